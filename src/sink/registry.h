// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "pillarbox/sink.h"

namespace pillarbox {

// Every sink in this build, one line each in registry.cc.
[[nodiscard]] std::span<const std::shared_ptr<const SinkFactory>> sink_factories();

// The factory for the URL's scheme. Throws Error(invalid_input, PBX-2011) that lists the schemes
// there are.
[[nodiscard]] const SinkFactory& sink_factory_for(std::string_view url);

}  // namespace pillarbox
