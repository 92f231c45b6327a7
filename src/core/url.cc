// SPDX-License-Identifier: Apache-2.0
#include "core/url.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "pillarbox/error.h"

namespace pillarbox::core {
namespace {

bool is_scheme_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

[[noreturn]] void refuse(std::string_view text, std::size_t at, const std::string& why) {
  throw Error(ErrorKind::invalid_input, "PBX-2012",
              "URL '" + redact_url(text) + "', character " + std::to_string(at + 1) + ": " + why);
}

// `part` must be a view into `whole`.
std::string decode(std::string_view whole, std::string_view part) {
  std::string out;
  out.reserve(part.size());
  const auto position = static_cast<std::size_t>(part.data() - whole.data());
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      out += part[i];
      continue;
    }
    if (i + 2 >= part.size() || hex_value(part[i + 1]) < 0 || hex_value(part[i + 2]) < 0) {
      refuse(whole, position + i,
             "'%' must be followed by two hexadecimal digits; write a literal '%' as %25");
    }
    const int byte = hex_value(part[i + 1]) * 16 + hex_value(part[i + 2]);
    if (byte == 0) refuse(whole, position + i, "%00 is not allowed");
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

bool looks_secret(std::string_view key) {
  std::string lower(key);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 7> kWords = {"pass",       "secret", "token", "key",
                                                      "credential", "auth",   "sig"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// Where the parts lie; no decoding, no refusal, so that it serves redaction of broken URLs too.
struct Parts {
  std::string_view scheme;
  bool has_authority = false;
  std::string_view user_info;  // without the '@'
  bool has_user_info = false;
  std::string_view host_port;
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};

Parts split(std::string_view url) {
  Parts parts;
  parts.scheme = url_scheme(url);
  std::string_view rest = url.substr(std::min(url.size(), parts.scheme.size() + 1));
  if (rest.starts_with("//")) {
    parts.has_authority = true;
    rest.remove_prefix(2);
    // The last '@' before the path: an unescaped '@' in a password then stays hidden rather than
    // shown.
    std::string_view authority = rest.substr(0, rest.find_first_of("?#"));
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos &&
        authority.substr(0, at).find('/') == std::string_view::npos) {
      parts.has_user_info = true;
      parts.user_info = rest.substr(0, at);
      rest.remove_prefix(at + 1);
    }
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    parts.host_port = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  const std::size_t question = rest.find('?');
  parts.path = rest.substr(0, question);
  if (question != std::string_view::npos) {
    parts.has_query = true;
    parts.query = rest.substr(question + 1);
  }
  return parts;
}

}  // namespace

std::string_view url_scheme(std::string_view url) noexcept {
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = url.substr(0, colon);
  return std::all_of(scheme.begin(), scheme.end(), is_scheme_char) ? scheme : std::string_view{};
}

std::string redact_url(std::string_view url) {
  if (url_scheme(url).empty()) {
    // Not a URL: perhaps a connection string of key=value pairs, whose secrets we cannot find. Show
    // no value.
    return url.find_first_of("=@") == std::string_view::npos ? std::string(url) : "***";
  }
  const Parts parts = split(url);
  std::string out(parts.scheme);
  out += ':';
  // An '@' beyond where the authority ends: a password with a bare '/', '?' or '#' in it, or a URL
  // without its scheme ("user:password@host"). Hiding too much is the lesser harm.
  const std::size_t colon_at = parts.host_port.find(':');
  const bool may_hold_password = parts.has_authority
                                     ? !parts.has_user_info && colon_at != std::string_view::npos
                                     : !parts.path.starts_with('/');
  const std::size_t last_at = url.rfind('@');
  if (may_hold_password && last_at != std::string_view::npos) {
    if (parts.has_authority) {
      out += "//";
      out += parts.host_port.substr(0, colon_at);
      out += ':';
    }
    out += "***";
    const std::string_view tail = url.substr(last_at);
    out += tail.substr(0, tail.find_first_of("?#"));
    return out;
  }
  if (parts.has_authority) {
    out += "//";
    if (parts.has_user_info) {
      const std::size_t colon = parts.user_info.find(':');
      out += parts.user_info.substr(0, colon);
      if (colon != std::string_view::npos) out += ":***";
      out += '@';
    }
    out += parts.host_port;
  }
  out += parts.path;
  if (!parts.has_query) return out;
  char separator = '?';
  std::string_view query = parts.query;
  while (true) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    out += separator;
    if (equals != std::string_view::npos && looks_secret(pair.substr(0, equals))) {
      out += pair.substr(0, equals);
      out += "=***";
    } else {
      out += pair;
    }
    if (end == std::string_view::npos) return out;
    query.remove_prefix(end + 1);
    separator = '&';
  }
}

Url parse_url(std::string_view text) {
  Url url;
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F;
  });
  if (bad != text.end()) {
    refuse(text, static_cast<std::size_t>(bad - text.begin()),
           "spaces and control characters are not allowed; percent-encode them (space is %20)");
  }
  url.scheme = url_scheme(text);
  if (url.scheme.empty())
    refuse(text, 0, "must begin with a scheme, as in sqlite:app.db or postgresql://host/db");
  if (text.find('#') != std::string_view::npos) {
    refuse(text, text.find('#'), "'#' is not allowed; write it as %23");
  }
  const Parts parts = split(text);
  url.has_authority = parts.has_authority;
  if (parts.has_user_info) {
    const std::size_t colon = parts.user_info.find(':');
    url.user = decode(text, parts.user_info.substr(0, colon));
    if (colon != std::string_view::npos)
      url.password = decode(text, parts.user_info.substr(colon + 1));
  }
  std::string_view host = parts.host_port;
  const bool several = host.find(',') != std::string_view::npos;
  if (!several && !host.empty()) {
    std::string_view port;
    if (host.front() == '[') {
      const std::size_t close = host.find(']');
      if (close == std::string_view::npos) {
        refuse(text, static_cast<std::size_t>(host.data() - text.data()),
               "'[' of an IPv6 address is never closed");
      }
      const std::string_view after = host.substr(close + 1);
      if (!after.empty() && after.front() != ':') {
        refuse(text, static_cast<std::size_t>(after.data() - text.data()),
               "after ']' only ':port' may follow");
      }
      port = after.empty() ? after : after.substr(1);
      host = host.substr(1, close - 1);
    } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
      port = host.substr(colon + 1);
      host = host.substr(0, colon);
    }
    if (!port.empty()) {
      int number = 0;
      const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
      if (error != std::errc{} || end != port.data() + port.size() || number < 1 ||
          number > 65535) {
        refuse(text, static_cast<std::size_t>(port.data() - text.data()),
               "the port must be a number from 1 to 65535");
      }
      url.port = number;
    }
  }
  url.host = decode(text, host);
  url.path = decode(text, parts.path);
  std::string_view query = parts.query;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (!pair.empty()) {
      const std::string key = decode(text, pair.substr(0, equals));
      const std::string value =
          equals == std::string_view::npos ? std::string{} : decode(text, pair.substr(equals + 1));
      if (!url.query.emplace(key, value).second) {
        refuse(text, static_cast<std::size_t>(pair.data() - text.data()),
               "parameter '" + key + "' is given twice");
      }
    }
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
  }
  return url;
}

}  // namespace pillarbox::core
