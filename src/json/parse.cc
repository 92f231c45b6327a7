// SPDX-License-Identifier: Apache-2.0
// The only unit that includes Boost.JSON.
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <cctype>

#include "json/json.h"

namespace pillarbox::json {
namespace {

namespace bj = boost::json;

// A handler that ignores everything; others hide what they need. basic_parser wants every one of
// these.
struct Ignore {
  // NOLINTBEGIN(readability-identifier-naming): Boost.JSON looks for these names
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  // NOLINTEND(readability-identifier-naming)

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return true; }
  bool on_object_end(std::size_t, bj::error_code&) { return true; }
  bool on_array_begin(bj::error_code&) { return true; }
  bool on_array_end(std::size_t, bj::error_code&) { return true; }
  bool on_key_part(bj::string_view, std::size_t, bj::error_code&) { return true; }
  bool on_key(bj::string_view, std::size_t, bj::error_code&) { return true; }
  bool on_string_part(bj::string_view, std::size_t, bj::error_code&) { return true; }
  bool on_string(bj::string_view, std::size_t, bj::error_code&) { return true; }
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(std::int64_t, bj::string_view, bj::error_code&) { return true; }
  bool on_uint64(std::uint64_t, bj::string_view, bj::error_code&) { return true; }
  bool on_double(double, bj::string_view, bj::error_code&) { return true; }
  bool on_bool(bool, bj::error_code&) { return true; }
  bool on_null(bj::error_code&) { return true; }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }
};

bj::parse_options options() {
  bj::parse_options chosen;
  chosen.max_depth = kDepthMax;
  return chosen;
}

// False when `text` is not one JSON text, or the handler stopped.
template <class Handler>
bool parse_all(bj::basic_parser<Handler>& parser, std::string_view text) {
  bj::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  return !error && used == text.size() && parser.done();
}

struct HeaderReader : Ignore {
  Headers headers;
  std::string current;
  std::size_t depth = 0;
  bool on_array_begin(bj::error_code& error) { return refuse(error); }
  bool on_int64(std::int64_t, bj::string_view, bj::error_code& error) { return refuse(error); }
  bool on_uint64(std::uint64_t, bj::string_view, bj::error_code& error) { return refuse(error); }
  bool on_double(double, bj::string_view, bj::error_code& error) { return refuse(error); }
  bool on_bool(bool, bj::error_code& error) { return refuse(error); }
  bool on_null(bj::error_code& error) { return refuse(error); }
  bool on_object_begin(bj::error_code& error) { return ++depth == 1 || refuse(error); }
  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) {
    current.append(part.data(), part.size());
    return true;
  }
  bool on_key(bj::string_view part, std::size_t, bj::error_code& error) {
    current.append(part.data(), part.size());
    const bool repeated = std::any_of(headers.begin(), headers.end(),
                                      [&](const auto& header) { return header.first == current; });
    if (repeated || current.find('\0') != std::string::npos) return refuse(error);
    headers.emplace_back(std::move(current), std::string{});
    current.clear();
    return true;
  }
  bool on_string_part(bj::string_view part, std::size_t, bj::error_code& error) {
    if (depth != 1) return refuse(error);
    headers.back().second.append(part.data(), part.size());
    return true;
  }
  bool on_string(bj::string_view part, std::size_t size, bj::error_code& error) {
    return on_string_part(part, size, error) &&
           (headers.back().second.find('\0') == std::string::npos || refuse(error));
  }
  static bool refuse(bj::error_code& error) {
    error = bj::error::syntax;
    return false;
  }
};

bool matches(std::string_view pattern, std::string_view name) {
  // '*' matches any run of characters; greedy with one point to return to.
  const auto lower = [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (p < pattern.size() && lower(pattern[p]) == lower(name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct KeyFinder : Ignore {
  std::span<const std::string> patterns;
  std::size_t count_max = 0;
  std::vector<std::string> found;
  std::vector<std::string> path;
  std::string current;
  bool on_object_begin(bj::error_code&) {
    path.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, bj::error_code&) {
    path.pop_back();
    return true;
  }
  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) {
    current.append(part.data(), part.size());
    return true;
  }
  bool on_key(bj::string_view part, std::size_t, bj::error_code&) {
    current.append(part.data(), part.size());
    path.back() = current;
    const bool hit = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return matches(pattern, current);
    });
    if (hit && found.size() < count_max) {
      std::string whole;
      for (const std::string& step : path) whole += (whole.empty() ? "" : ".") + step;
      found.push_back(std::move(whole));
    }
    current.clear();
    return true;
  }
};

}  // namespace

bool is_valid(std::string_view text) {
  bj::basic_parser<Ignore> parser(options());
  return parse_all(parser, text);
}

std::optional<Headers> parse_headers(std::string_view text) {
  bj::basic_parser<HeaderReader> parser(options());
  if (!parse_all(parser, text) || parser.handler().depth != 1) return std::nullopt;
  return std::move(parser.handler().headers);
}

std::vector<std::string> find_keys(std::string_view text, std::span<const std::string> patterns,
                                   std::size_t count_max) {
  bj::basic_parser<KeyFinder> parser(options());
  parser.handler().patterns = patterns;
  parser.handler().count_max = count_max;
  if (!parse_all(parser, text)) return {};
  return std::move(parser.handler().found);
}

const std::vector<std::string>& secret_key_patterns() {
  static const std::vector<std::string> kPatterns = {"*token*", "*secret*", "*password*"};
  return kPatterns;
}

bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  std::string lower(type);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "application/json" || (lower.size() > 5 && lower.ends_with("+json"));
}

}  // namespace pillarbox::json
