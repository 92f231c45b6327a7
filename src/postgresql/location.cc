// SPDX-License-Identifier: Apache-2.0
#include "postgresql/location.h"

#include <algorithm>

#include "core/url.h"
#include "pillarbox/error.h"

namespace pillarbox::postgresql {
namespace {

[[noreturn]] void refuse(std::string_view url, const std::string& what) {
  throw Error(ErrorKind::invalid_input, "PBX-2010",
              "store URL '" + core::redact_url(url) + "': " + what);
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && (name[0] < '0' || name[0] > '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

Location read_location(std::string_view url) {
  const core::Url parsed = core::parse_url(url);
  Location location;
  bool poll_only = false;
  std::string listen;
  for (const auto& [key, value] : parsed.query) {
    if (key == "schema") {
      if (!is_plain_name(value)) {
        refuse(url,
               "schema must be a plain lower-case name of letters, digits and '_', as in "
               "schema=pillarbox");
      }
      location.schema = value;
    } else if (key == "listen") {
      poll_only = value == "none";
      listen = value;
    } else if (key == "prepared") {
      if (value != "true" && value != "false") refuse(url, "prepared must be true or false");
      location.prepared = value == "true";
    }
  }
  // The text without our parameters, everything else byte for byte: libpq does its own decoding.
  const std::size_t question = url.find('?');
  std::string base(url.substr(0, question));
  std::string rest;
  std::string_view query =
      question == std::string_view::npos ? std::string_view{} : url.substr(question + 1);
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::string_view key = pair.substr(0, pair.find('='));
    if (!pair.empty() && key != "schema" && key != "listen" && key != "prepared") {
      rest += rest.empty() ? '?' : '&';
      rest += pair;
    }
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
  }
  location.url = base + rest;
  if (poll_only) return location;
  if (listen.empty()) {
    location.listen_url = location.url;
    return location;
  }
  // Another host, the same everything else.
  const std::size_t begin = base.find("//") + 2;
  const std::size_t slash = std::min(base.find('/', begin), base.size());
  const std::size_t at = base.rfind('@', slash);
  const std::size_t host = at == std::string::npos || at < begin ? begin : at + 1;
  if (listen.front() == '/') {  // a socket's directory must be percent-encoded as a host
    std::string encoded;
    for (const char c : listen) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
    listen = encoded;
  }
  location.listen_url = base.substr(0, host) + listen + base.substr(slash) + rest;
  return location;
}

}  // namespace pillarbox::postgresql
