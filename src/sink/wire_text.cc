// SPDX-License-Identifier: Apache-2.0
#include "sink/wire_text.h"

#include <array>
#include <cstdint>

#include "core/utf8.h"
#include "json/json.h"

namespace pillarbox::sink {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool ends_with(std::string_view text, std::string_view tail) noexcept {
  return text.size() >= tail.size() &&
         equals_ignoring_case(text.substr(text.size() - tail.size()), tail);
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

void append_base64(std::string& out, std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8U) | (k < left ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    }
    out += kAlphabet[(group >> 18U) & 63U];
    out += kAlphabet[(group >> 12U) & 63U];
    out += left > 1 ? kAlphabet[(group >> 6U) & 63U] : '=';
    out += left > 2 ? kAlphabet[group & 63U] : '=';
  }
}

bool is_text_type(std::string_view content_type) noexcept {
  if (json::is_json_type(content_type)) return true;
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.size() > 5 && equals_ignoring_case(type.substr(0, 5), "text/")) return true;
  if (ends_with(type, "+xml")) return true;
  constexpr std::array<std::string_view, 5> kTexts = {"application/xml", "application/javascript",
                                                      "application/x-www-form-urlencoded",
                                                      "application/x-ndjson", "application/yaml"};
  for (const std::string_view text : kTexts) {
    if (equals_ignoring_case(type, text)) return true;
  }
  return false;
}

void append_printable(std::string& out, std::string_view text, std::size_t out_bytes_max) {
  text = core::utf8_prefix(text, out_bytes_max);
  const bool is_utf8 = core::utf8_length(text).has_value();
  std::string clean;
  bool space = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = is_utf8 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte <= 0x20 || byte == 0x7F || is_c1) {
      if (is_c1) ++i;
      space = true;
      continue;
    }
    if (space && !clean.empty()) clean += ' ';
    space = false;
    clean += byte < 0x80 || is_utf8 ? text[i] : '?';
  }
  const std::size_t room = out_bytes_max > out.size() ? out_bytes_max - out.size() : 0;
  out += core::utf8_prefix(clean, room);
}

}  // namespace pillarbox::sink
