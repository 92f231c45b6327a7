// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "pillarbox/message.h"

namespace pillarbox::http {

// The three forms of RFC 9110 section 5.6.7, always GMT; nullopt for anything else.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

// How long the value of Retry-After asks to wait. A date is counted from the answer's own `date`:
// both come from one clock, and ours may differ. nullopt for what cannot be read, a time that is
// over, and a date in an answer without one.
[[nodiscard]] std::optional<Millis> parse_retry_after(std::string_view value,
                                                      std::string_view date);

}  // namespace pillarbox::http
