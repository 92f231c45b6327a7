// SPDX-License-Identifier: Apache-2.0
// Values inside a JSON text, as they were written: a number never passes through a double.
#include <boost/json/parse.hpp>

#include "core/assert.h"
#include "json/json.h"

namespace pillarbox::json {
namespace {

// Walks a text that is_valid() has accepted.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { skip_space(); }

  [[nodiscard]] char peek() const { return text_[at_]; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  // Past `c` and the space behind it.
  void pass() {
    ++at_;
    skip_space();
  }
  // The next value with its quotes or brackets; stands behind it afterwards.
  std::string_view value() {
    const std::size_t start = at_;
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        while (at_ < text_.size() &&
               std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
          ++at_;
      }
    } while (depth > 0);
    const std::string_view out = text_.substr(start, at_ - start);
    skip_space();
    return out;
  }

 private:
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// RFC 6901, section 4: one reference token with ~1 and ~0 read; nullopt when '~' stands alone.
std::optional<std::string> read_token(std::string_view written) {
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '~') {
      out += written[i];
      continue;
    }
    ++i;
    if (i == written.size() || (written[i] != '0' && written[i] != '1')) return std::nullopt;
    out += written[i] == '0' ? '~' : '/';
  }
  return out;
}

std::optional<std::string_view> member(std::string_view object, const std::string& name) {
  Scanner scanner(object);
  std::optional<std::string_view> found;
  scanner.pass();
  while (scanner.peek() != '}') {
    if (scanner.peek() == ',') scanner.pass();
    const std::string_view key = scanner.value();
    scanner.pass();  // ':'
    const std::string_view value = scanner.value();
    if (unquoted(key) == name) found = value;  // the last one, as most readers take it
  }
  return found;
}

std::optional<std::string_view> element(std::string_view array, std::string_view index) {
  if (index.empty() || index.size() > 9 || (index.size() > 1 && index[0] == '0'))
    return std::nullopt;
  std::size_t wanted = 0;
  for (const char c : index) {
    if (c < '0' || c > '9') return std::nullopt;
    wanted = wanted * 10 + static_cast<std::size_t>(c - '0');
  }
  Scanner scanner(array);
  scanner.pass();
  for (std::size_t i = 0; scanner.peek() != ']'; ++i) {
    if (scanner.peek() == ',') scanner.pass();
    const std::string_view value = scanner.value();
    if (i == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

bool is_pointer(std::string_view pointer) {
  if (pointer.empty()) return true;
  if (pointer[0] != '/') return false;
  return read_token(pointer).has_value();
}

std::optional<std::string_view> find(std::string_view text, std::string_view pointer) {
  PILLARBOX_ASSERT(is_pointer(pointer));
  if (!is_valid(text)) return std::nullopt;
  std::string_view here = Scanner(text).value();
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view written = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(written.size());
    std::optional<std::string_view> next;
    if (here[0] == '{') {
      next = member(here, *read_token(written));
    } else if (here[0] == '[') {
      next = element(here, written);
    }
    if (!next) return std::nullopt;
    here = *next;
  }
  return here;
}

std::string unquoted(std::string_view quoted) {
  PILLARBOX_ASSERT(quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"');
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  return std::string(boost::json::parse(quoted).as_string());
}

std::string as_ascii(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  const auto append_unit = [&](unsigned unit) {
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[(unit >> shift) & 15U];
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      out += text[i++];
      continue;
    }
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    unsigned point = first & (0xFFU >> (size + 1));
    for (std::size_t k = 1; k < size && i + k < text.size(); ++k)
      point = (point << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    if (point >= 0x10000) {
      append_unit(0xD800 + ((point - 0x10000) >> 10U));
      append_unit(0xDC00 + ((point - 0x10000) & 0x3FFU));
    } else {
      append_unit(point);
    }
    i += size;
  }
  return out;
}

}  // namespace pillarbox::json
