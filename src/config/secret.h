// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "pillarbox/sink.h"

namespace pillarbox::config {

// Each is read anew at every use. A file's trailing line ends are not part of the secret. PBX-2006
// when it cannot be had.
[[nodiscard]] std::shared_ptr<const Secret> secret_from_file(std::string path);
[[nodiscard]] std::shared_ptr<const Secret> secret_from_environment(std::string name);
[[nodiscard]] std::shared_ptr<const Secret> secret_from_credential(
    std::string name);  // systemd LoadCredential=

}  // namespace pillarbox::config
