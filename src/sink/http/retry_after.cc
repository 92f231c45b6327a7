// SPDX-License-Identifier: Apache-2.0
#include "sink/http/retry_after.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace pillarbox::http {
namespace {

constexpr std::size_t kDateCharsMax = 64;
constexpr std::size_t kSecondsDigitsMax = 9;  // some thirty years

struct Fields {
  int year = 0;
  char month[4] = {};
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

std::optional<std::chrono::sys_seconds> to_time(const Fields& f) {
  using namespace std::chrono;
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* const found = std::find_if(kMonths.begin(), kMonths.end(), [&](const char* month) {
    return std::strcmp(month, f.month) == 0;
  });
  const auto index = static_cast<unsigned>(found - kMonths.begin()) + 1;
  const year_month_day date{year{f.year}, month{index}, day{static_cast<unsigned>(f.day)}};
  const bool is_time = f.hour >= 0 && f.hour < 24 && f.minute >= 0 && f.minute < 60 &&
                       f.second >= 0 && f.second <= 60;  // 60: a leap second
  if (found == kMonths.end() || f.day < 1 || !date.ok() || !is_time) return std::nullopt;
  return sys_days{date} + hours{f.hour} + minutes{f.minute} + seconds{f.second};
}

}  // namespace

std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
  if (text.size() > kDateCharsMax) return std::nullopt;
  const std::string line(text);
  const auto reads_all = [&](int length) { return length == static_cast<int>(line.size()); };
  Fields f;
  int end = -1;
  // Sun, 06 Nov 1994 08:49:37 GMT
  if (std::sscanf(line.c_str(), "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &f.day,
                  f.month, &f.year, &f.hour, &f.minute, &f.second, &end) == 6 &&
      reads_all(end)) {
    return to_time(f);
  }
  // Sunday, 06-Nov-94 08:49:37 GMT
  f = {};
  end = -1;
  if (std::sscanf(line.c_str(), "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &f.day,
                  f.month, &f.year, &f.hour, &f.minute, &f.second, &end) == 6 &&
      reads_all(end)) {
    f.year += f.year < 70 ? 2000 : 1900;
    return to_time(f);
  }
  // Sun Nov  6 08:49:37 1994
  f = {};
  end = -1;
  if (std::sscanf(line.c_str(), "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", f.month, &f.day,
                  &f.hour, &f.minute, &f.second, &f.year, &end) == 6 &&
      reads_all(end)) {
    return to_time(f);
  }
  return std::nullopt;
}

std::optional<Millis> parse_retry_after(std::string_view value, std::string_view date) {
  if (value.empty()) return std::nullopt;
  if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = 0;
    for (const char c : value.substr(0, kSecondsDigitsMax)) seconds = seconds * 10 + (c - '0');
    if (value.size() > kSecondsDigitsMax) seconds = 1'000'000'000;  // the ceiling cuts it
    return std::chrono::seconds{seconds};
  }
  const auto at = parse_http_date(value);
  const auto now = parse_http_date(date);
  if (!at || !now || *at <= *now) return std::nullopt;
  return *at - *now;
}

}  // namespace pillarbox::http
