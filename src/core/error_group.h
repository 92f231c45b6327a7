// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pillarbox::core {

// An error's text with what changes from one message to the next replaced by '#': numbers, UUIDs,
// runs of eight or more hex digits. Errors of one cause come out equal, so that dead letters can be
// grouped by it.
[[nodiscard]] std::string normalise_error(std::string_view error);

}  // namespace pillarbox::core
