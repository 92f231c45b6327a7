// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace pillarbox::core {

// A job type, exact or with one trailing '*': "email.*" matches "email.welcome.v1" and "email.".
[[nodiscard]] inline bool matches_type(std::string_view pattern,
                                       std::string_view job_type) noexcept {
  if (!pattern.empty() && pattern.back() == '*')
    return job_type.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == job_type;
}

// '*' stands at the end only, and something is there.
[[nodiscard]] inline bool is_type_pattern(std::string_view pattern) noexcept {
  return !pattern.empty() &&
         (pattern.find('*') == std::string_view::npos || pattern.find('*') == pattern.size() - 1);
}

// A brake's scope: "all", or "type:" and a pattern.
[[nodiscard]] inline bool brake_covers(std::string_view scope, std::string_view job_type) noexcept {
  constexpr std::string_view kType = "type:";
  return scope == "all" ||
         (scope.starts_with(kType) && matches_type(scope.substr(kType.size()), job_type));
}

// Throws Error(invalid_input, PBX-1012) for what cannot be a brake's scope.
void check_brake_scope(std::string_view scope);

}  // namespace pillarbox::core
