// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "pillarbox/message.h"

namespace pillarbox {
namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool is_dash_place(std::size_t at) noexcept {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

}  // namespace

std::optional<MessageId> MessageId::parse(std::string_view text) noexcept {
  if (text.size() != 36) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    auto& byte = bytes[nibble / 2];
    byte = static_cast<std::uint8_t>((static_cast<unsigned>(byte) << 4U) |
                                     static_cast<unsigned>(value));
    ++nibble;
  }
  return MessageId(bytes);
}

std::string MessageId::to_string() const {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  for (const std::uint8_t byte : bytes_) {
    if (is_dash_place(at)) ++at;
    text[at++] = kHex[byte >> 4U];
    text[at++] = kHex[byte & 15U];
  }
  return text;
}

}  // namespace pillarbox
