// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Reads JSON the way a careful consumer does: values as the text that stands there. Shares no code
// with what wrote it. Throws std::runtime_error for what is no JSON object or array.
namespace pillarbox::testing {

using JsonMembers = std::vector<std::pair<std::string, std::string>>;  // name, raw value

[[nodiscard]] JsonMembers json_members(std::string_view object);
[[nodiscard]] std::vector<std::string> json_elements(std::string_view array);
[[nodiscard]] std::string json_string(std::string_view raw);  // without quotes and escapes

// The raw value, or empty; throws when the name is there twice.
[[nodiscard]] std::string json_get(const JsonMembers& members, std::string_view name);

[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace pillarbox::testing
