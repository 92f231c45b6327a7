// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

namespace pillarbox::core {

std::optional<std::size_t> utf8_length(std::string_view text) noexcept {
  std::size_t count = 0;
  std::size_t i = 0;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  while (i < text.size()) {
    const unsigned char lead = byte(i);
    std::size_t follow = 0;
    unsigned char low =
        0x80;  // bounds of the second byte, which rule out over-long forms and surrogates
    unsigned char high = 0xBF;
    if (lead < 0x80) {
      follow = 0;
    } else if (lead >= 0xC2 && lead <= 0xDF) {
      follow = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      follow = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      follow = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return std::nullopt;
    }
    if (i + follow >= text.size()) return std::nullopt;
    for (std::size_t k = 1; k <= follow; ++k) {
      if (byte(i + k) < low || byte(i + k) > high) return std::nullopt;
      low = 0x80;
      high = 0xBF;
    }
    i += follow + 1;
    ++count;
  }
  return count;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string storable_text(std::string_view text, std::size_t bytes_max) {
  const std::string_view cut = utf8_prefix(text, bytes_max);
  if (utf8_length(cut) && cut.find('\0') == std::string_view::npos) return std::string(cut);
  std::string out;
  for (std::size_t i = 0; i < cut.size();) {
    std::size_t size = 1;
    while (size <= 4 && i + size <= cut.size() && !utf8_length(cut.substr(i, size))) ++size;
    const bool good = size <= 4 && i + size <= cut.size() && cut[i] != '\0';
    out += good ? cut.substr(i, size) : std::string_view("?");
    i += good ? size : 1;
  }
  return out;
}

}  // namespace pillarbox::core
