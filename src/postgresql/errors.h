// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "pillarbox/error.h"

namespace pillarbox::postgresql {

// What the server's SQLSTATE means to us (PostgreSQL manual, appendix A). Pure.
struct Meaning {
  ErrorKind kind;
  std::string_view code;  // ours
  bool connection_lost;
  bool drop_statements;  // prepared statements of this session are stale
  std::string_view advice;
};
[[nodiscard]] Meaning meaning_of(std::string_view sqlstate) noexcept;

// `where` is what we did: "claim"; `message` the server's own words, which hold no payload of ours.
[[nodiscard]] Error make_error(std::string_view sqlstate, std::string_view where,
                               std::string_view message, bool in_doubt);

}  // namespace pillarbox::postgresql
