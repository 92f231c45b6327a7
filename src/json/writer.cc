// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

#include "core/assert.h"
#include "core/utf8.h"
#include "json/json.h"

namespace pillarbox::json {
namespace {

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (c < 0x20 || c == 0x7F) {
    out += "\\u00";
    out += kHex[c >> 4U];
    out += kHex[c & 15U];
  } else {
    out += static_cast<char>(c);
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  if (core::utf8_length(text)) {
    for (const char c : text) append_escaped(out, static_cast<unsigned char>(c));
  } else {
    // Character by character: what is well-formed stays, each other byte is replaced.
    for (std::size_t i = 0; i < text.size();) {
      std::size_t size = 1;
      while (size <= 4 && i + size <= text.size() && !core::utf8_length(text.substr(i, size)))
        ++size;
      if (size > 4 || i + size > text.size()) {
        out += "\xEF\xBF\xBD";
        ++i;
        continue;
      }
      for (const char c : text.substr(i, size)) append_escaped(out, static_cast<unsigned char>(c));
      i += size;
    }
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

std::string write_headers(const Headers& headers) {
  Writer writer;
  writer.begin_object();
  for (const auto& [name, value] : headers) writer.field(name, std::string_view(value));
  writer.end_object();
  return writer.take();
}

void Writer::before_value() {
  if (levels_.empty()) {
    PILLARBOX_ASSERT(out_.empty());
    return;
  }
  Level& level = levels_.back();
  if (level.is_object) {
    PILLARBOX_ASSERT(level.has_key);
    level.has_key = false;
    return;
  }
  if (!level.empty) out_ += ',';
  level.empty = false;
}

Writer& Writer::begin_object() {
  before_value();
  out_ += '{';
  levels_.push_back({true, true, false});
  return *this;
}

Writer& Writer::end_object() {
  PILLARBOX_ASSERT(!levels_.empty() && levels_.back().is_object && !levels_.back().has_key);
  levels_.pop_back();
  out_ += '}';
  return *this;
}

Writer& Writer::begin_array() {
  before_value();
  out_ += '[';
  levels_.push_back({false, true, false});
  return *this;
}

Writer& Writer::end_array() {
  PILLARBOX_ASSERT(!levels_.empty() && !levels_.back().is_object);
  levels_.pop_back();
  out_ += ']';
  return *this;
}

Writer& Writer::key(std::string_view name) {
  PILLARBOX_ASSERT(!levels_.empty() && levels_.back().is_object && !levels_.back().has_key);
  Level& level = levels_.back();
  if (!level.empty) out_ += ',';
  level.empty = false;
  level.has_key = true;
  append_quoted(out_, name);
  out_ += ':';
  return *this;
}

Writer& Writer::string(std::string_view value) {
  before_value();
  append_quoted(out_, value);
  return *this;
}

Writer& Writer::number(std::int64_t value) {
  before_value();
  out_ += std::to_string(value);
  return *this;
}

Writer& Writer::real(double value) {
  if (!std::isfinite(value)) return null();
  before_value();
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  PILLARBOX_ASSERT(error == std::errc{});
  out_.append(text.data(), end);
  return *this;
}

Writer& Writer::boolean(bool value) {
  before_value();
  out_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  before_value();
  out_ += "null";
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

}  // namespace pillarbox::json
