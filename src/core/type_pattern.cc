// SPDX-License-Identifier: Apache-2.0
#include "core/type_pattern.h"

#include <string>

#include "pillarbox/error.h"

namespace pillarbox::core {

void check_brake_scope(std::string_view scope) {
  constexpr std::string_view kType = "type:";
  if (scope == "all") return;
  if (scope.starts_with(kType) && is_type_pattern(scope.substr(kType.size()))) return;
  throw Error(ErrorKind::invalid_input, "PBX-1012",
              "brake scope '" + std::string(scope) + "' must be all, type:NAME or type:PREFIX*");
}

}  // namespace pillarbox::core
