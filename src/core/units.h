// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pillarbox/message.h"

namespace pillarbox::core {

// "500ms" "5s" "2m" "1h" "7d", and "0" without a unit. Nothing else: no fraction, no sum, no sign.
[[nodiscard]] std::optional<Millis> parse_duration(std::string_view text) noexcept;

// The same form, exact: the largest unit that divides it.
[[nodiscard]] std::string format_duration(Millis duration);

// For people, about two digits that matter: "3 min 12 s", "2 h 5 min", "14 d", "420 ms".
[[nodiscard]] std::string describe_duration(Millis duration);

// "0" "512" "64KiB" "8MiB" "1GiB" (also "B").
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// For people: "12.3 MiB".
[[nodiscard]] std::string describe_size(std::uint64_t bytes);

// "2026-12-01T10:11:12.345Z" (RFC 3339, UTC), with as many of three digits as asked for.
[[nodiscard]] std::string format_time(DbTime time);

// RFC 3339 with 'Z' or an offset, or a date alone (midnight UTC).
[[nodiscard]] std::optional<DbTime> parse_time(std::string_view text) noexcept;

}  // namespace pillarbox::core
