// SPDX-License-Identifier: Apache-2.0
#include "sink/http/header_text.h"

#include <algorithm>
#include <array>

#include "core/assert.h"
#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

bool is_visible(char c) noexcept { return c > 0x20 && c < 0x7F; }

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void append_encoded_byte(std::string& out, char c) {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

bool is_clean(std::string_view value) noexcept {
  if (value.empty()) return true;
  if (!is_visible(value.front()) || !is_visible(value.back())) return false;
  return std::all_of(value.begin(), value.end(), [](char c) { return is_visible(c) || c == ' '; });
}

bool starts_with(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() &&
         sink::equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

}  // namespace

void append_percent_encoded(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (is_visible(c) && c != '"' && c != '%') {
      out += c;
    } else {
      append_encoded_byte(out, c);
    }
  }
}

void append_path_segment(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      append_encoded_byte(out, c);
    }
  }
}

bool is_header_name(std::string_view name) noexcept {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter_or_digit(c) || kOthers.find(c) != std::string_view::npos;
  });
}

bool may_forward(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 18> kOurs = {"accept",
                                                      "authorization",
                                                      "connection",
                                                      "content-encoding",
                                                      "content-length",
                                                      "content-type",
                                                      "cookie",
                                                      "expect",
                                                      "host",
                                                      "idempotency-key",
                                                      "keep-alive",
                                                      "te",
                                                      "trailer",
                                                      "transfer-encoding",
                                                      "upgrade",
                                                      "user-agent",
                                                      "via",
                                                      "http2-settings"};
  constexpr std::array<std::string_view, 4> kPrefixes = {"ce-", "webhook-", "pillarbox-", "proxy-"};
  if (!is_header_name(name)) return false;
  const auto is = [&](std::string_view other) { return sink::equals_ignoring_case(name, other); };
  const auto begins = [&](std::string_view prefix) { return starts_with(name, prefix); };
  return std::none_of(kOurs.begin(), kOurs.end(), is) &&
         std::none_of(kPrefixes.begin(), kPrefixes.end(), begins);
}

void HeaderLines::clear() noexcept {
  text_.clear();
  starts_.clear();
}

void HeaderLines::start(std::string_view name) {
  PILLARBOX_ASSERT(is_header_name(name));
  starts_.push_back(text_.size());
  text_ += name;
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  if (!is_clean(value)) return add_percent_encoded(name, value);
  start(name);
  if (value.empty()) {
    text_ += ';';
  } else {
    text_ += ": ";
    text_ += value;
  }
  text_ += '\0';
}

void HeaderLines::add_percent_encoded(std::string_view name, std::string_view value) {
  start(name);
  if (value.empty()) {
    text_ += ';';
  } else {
    text_ += ": ";
    append_percent_encoded(text_, value);
  }
  text_ += '\0';
}

void HeaderLines::leave_out(std::string_view name) {
  start(name);
  text_ += ':';
  text_ += '\0';
}

}  // namespace pillarbox::http
