// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pillarbox::core {

// The number of code points; nullopt when `text` is not well-formed UTF-8 (RFC 3629: no surrogates,
// no over-long forms, nothing above U+10FFFF).
[[nodiscard]] std::optional<std::size_t> utf8_length(std::string_view text) noexcept;

// The longest prefix of at most `bytes_max` bytes that does not cut a character in two.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) noexcept;

// Text from elsewhere as every store takes it: at most `bytes_max` bytes, well-formed, without NUL;
// what is not becomes '?'.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t bytes_max);

}  // namespace pillarbox::core
