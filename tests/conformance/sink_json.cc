// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/sink_json.h"

#include <cstdint>
#include <stdexcept>

namespace pillarbox::testing {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  [[nodiscard]] char peek() const {
    if (at_ >= text_.size()) throw std::runtime_error("JSON ends early");
    return text_[at_];
  }
  void expect(char c) {
    if (peek() != c) throw std::runtime_error(std::string("JSON: expected ") + c);
    ++at_;
  }
  [[nodiscard]] bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string_view string() {
    const std::size_t start = at_;
    expect('"');
    while (peek() != '"') at_ += peek() == '\\' ? 2 : 1;
    ++at_;
    return text_.substr(start, at_ - start);
  }
  // Any value, as the text between here and its end.
  std::string_view value() {
    const std::size_t start = at_;
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
      }
      if (c == ',' && depth == 0) break;
      ++at_;
    } while (at_ < text_.size() &&
             (depth > 0 || std::string_view(",}]").find(text_[at_]) == std::string::npos));
    return text_.substr(start, at_ - start);
  }
  void end() {
    skip_space();
    if (at_ != text_.size()) throw std::runtime_error("JSON: something follows its end");
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace

JsonMembers json_members(std::string_view object) {
  Scanner in(object);
  JsonMembers out;
  in.skip_space();
  in.expect('{');
  in.skip_space();
  while (!in.take('}')) {
    std::string name = json_string(in.string());
    in.skip_space();
    in.expect(':');
    out.emplace_back(std::move(name), in.value());
    if (!in.take(',')) {
      in.expect('}');
      break;
    }
    in.skip_space();
  }
  in.end();
  return out;
}

std::vector<std::string> json_elements(std::string_view array) {
  Scanner in(array);
  std::vector<std::string> out;
  in.skip_space();
  in.expect('[');
  while (!in.take(']')) {
    out.emplace_back(in.value());
    if (!in.take(',')) {
      in.expect(']');
      break;
    }
  }
  in.end();
  return out;
}

std::string json_string(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') {
    throw std::runtime_error("JSON: no string: " + std::string(raw));
  }
  raw = raw.substr(1, raw.size() - 2);
  std::string out;
  std::uint32_t high = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c == 'u') {
      const auto unit =
          static_cast<std::uint32_t>(std::stoul(std::string(raw.substr(i + 1, 4)), nullptr, 16));
      i += 4;
      if (unit >= 0xD800 && unit < 0xDC00) {
        high = unit;
        continue;
      }
      const bool is_low = unit >= 0xDC00 && unit < 0xE000;
      append_utf8(out, is_low ? 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00) : unit);
      continue;
    }
    const auto place = std::string_view("bfnrt\"\\/").find(c);
    if (place == std::string_view::npos) throw std::runtime_error("JSON: unknown escape");
    out += "\b\f\n\r\t\"\\/"[place];
  }
  return out;
}

std::string json_get(const JsonMembers& members, std::string_view name) {
  std::string out;
  bool found = false;
  for (const auto& [key, raw] : members) {
    if (key != name) continue;
    if (found) throw std::runtime_error("JSON: twice: " + key);
    found = true;
    out = raw;
  }
  return out;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) throw std::runtime_error("base64: length");
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos) throw std::runtime_error("base64: character");
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xFF);
    }
  }
  return out;
}

}  // namespace pillarbox::testing
