// SPDX-License-Identifier: Apache-2.0
#include "pillarbox/error.h"

#include <utility>

namespace pillarbox {

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_input:
      return "invalid_input";
    case ErrorKind::unreachable:
      return "unreachable";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::refused:
      return "refused";
    case ErrorKind::schema:
      return "schema";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string_view code, std::string what)
    : Error(kind, code, std::move(what), Facts{}) {}

Error::Error(ErrorKind kind, std::string_view code, std::string what, Facts facts)
    : kind_(kind), code_(code), what_(std::move(what)), facts_(std::move(facts)) {}

}  // namespace pillarbox
