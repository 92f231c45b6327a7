// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pillarbox::http {

// CloudEvents' rule for header values (HTTP binding 3.1.3.2): percent-encodes space, '"', '%' and
// all that is not visible ASCII, byte by byte.
void append_percent_encoded(std::string& out, std::string_view value);

// Percent-encodes all but RFC 3986's unreserved characters.
void append_path_segment(std::string& out, std::string_view text);

// A name that RFC 9110 allows (a token).
[[nodiscard]] bool is_header_name(std::string_view name) noexcept;

// Whether a header of a message may become one of the request. Those that frame or route the
// request, prove who we are, or that we write ourselves may not.
[[nodiscard]] bool may_forward(std::string_view name) noexcept;

// The lines of a request's header, in one piece of memory that is used again. No line can end
// another's: a value that is not visible ASCII with inner spaces is percent-encoded.
class HeaderLines {
 public:
  void clear() noexcept;
  void add(std::string_view name, std::string_view value);  // as it is, where it is clean
  void add_percent_encoded(std::string_view name, std::string_view value);  // by CloudEvents' rule

  // Keeps libcurl from adding a header of its own.
  void leave_out(std::string_view name);

  [[nodiscard]] std::size_t size() const noexcept { return starts_.size(); }
  // "Name: value", or "Name;" for an empty value, which is how libcurl wants it. NUL-terminated;
  // valid until the next add().
  [[nodiscard]] const char* line(std::size_t i) const noexcept { return text_.data() + starts_[i]; }

 private:
  void start(std::string_view name);

  std::string text_;
  std::vector<std::size_t> starts_;
};

}  // namespace pillarbox::http
