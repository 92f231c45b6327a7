// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pillarbox::core {

// The part before the first ':', lower case letters as written; empty when there is none.
[[nodiscard]] std::string_view url_scheme(std::string_view url) noexcept;

// The URL with its password, and the values of query parameters that look like secrets, replaced by
// "***".
[[nodiscard]] std::string redact_url(std::string_view url);

// scheme:[//[user[:password]@]host[:port]]path[?query]. Percent-encoding is decoded in user,
// password, host, path and query values (RFC 3986). Several hosts ("h1:1,h2:2") stay one text in
// `host`.
struct Url {
  std::string scheme;
  bool has_authority = false;
  std::string user;
  std::optional<std::string> password;
  std::string host;  // with brackets removed for IPv6 when there is one host
  std::optional<int> port;
  std::string path;
  std::map<std::string, std::string> query;
};

// Throws Error(invalid_input, PBX-2012) with the position and what would be right; never shows a
// password.
[[nodiscard]] Url parse_url(std::string_view text);

}  // namespace pillarbox::core
