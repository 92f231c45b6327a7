// SPDX-License-Identifier: Apache-2.0
#include "core/units.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace pillarbox::core {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 5> kDurations = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizes = {
    {{"GiB", 1ULL << 30U}, {"MiB", 1ULL << 20U}, {"KiB", 1ULL << 10U}, {"B", 1}}};

template <std::size_t N>
std::optional<std::uint64_t> parse_with(std::string_view text, const std::array<Unit, N>& units,
                                        bool unit_optional, std::uint64_t max) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) {
    if (unit_optional || number == 0) return number <= max ? std::optional(number) : std::nullopt;
    return std::nullopt;
  }
  for (const Unit& u : units) {
    if (u.name != unit) continue;
    if (number > max / u.factor) return std::nullopt;
    return number * u.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string format_with(std::uint64_t value, const std::array<Unit, N>& units) {
  if (value == 0) return "0";
  for (const Unit& u : units) {
    if (value % u.factor == 0) return std::to_string(value / u.factor) + std::string(u.name);
  }
  return std::to_string(value);
}

// Days since 1970-01-01 of a proleptic Gregorian date (Hinnant, "chrono-compatible low-level date
// algorithms").
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) noexcept {
  using namespace std::chrono;
  return sys_days(std::chrono::year(static_cast<int>(year)) / static_cast<int>(month) /
                  static_cast<int>(day))
      .time_since_epoch()
      .count();
}

bool read_digits(std::string_view text, std::size_t at, std::size_t count, int& out) noexcept {
  if (at + count > text.size()) return false;
  out = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  return true;
}

}  // namespace

std::optional<Millis> parse_duration(std::string_view text) noexcept {
  constexpr std::uint64_t kMax = 100ULL * 365 * 86'400'000;
  const auto value = parse_with(text, kDurations, false, kMax);
  if (!value) return std::nullopt;
  return Millis(static_cast<std::int64_t>(*value));
}

std::string format_duration(Millis duration) {
  return format_with(static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count()),
                     kDurations);
}

std::string describe_duration(Millis duration) {
  const std::int64_t ms = duration.count() < 0 ? 0 : duration.count();
  const auto two = [](std::int64_t a, const char* ua, std::int64_t b, const char* ub) {
    std::string text = std::to_string(a) + ua;
    if (b > 0) text += " " + std::to_string(b) + ub;
    return text;
  };
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const std::int64_t s = ms / 1'000;
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3'600) return two(s / 60, " min", s % 60, " s");
  if (s < 86'400) return two(s / 3'600, " h", s % 3'600 / 60, " min");
  return two(s / 86'400, " d", s < 10 * 86'400 ? s % 86'400 / 3'600 : 0, " h");
}

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
  return parse_with(text, kSizes, true, 1ULL << 50U);
}

std::string format_size(std::uint64_t bytes) { return format_with(bytes, kSizes); }

std::string describe_size(std::uint64_t bytes) {
  for (const Unit& u : kSizes) {
    if (bytes < u.factor || u.factor == 1) continue;
    std::array<char, 32> text{};
    const int size =
        std::snprintf(text.data(), text.size(), "%.1f %s",
                      static_cast<double>(bytes) / static_cast<double>(u.factor), u.name.data());
    return {text.data(), static_cast<std::size_t>(size)};
  }
  return std::to_string(bytes) + " B";
}

std::string format_time(DbTime time) {
  std::int64_t micros = to_int(time);
  std::int64_t days = micros / 86'400'000'000;
  std::int64_t rest = micros % 86'400'000'000;
  if (rest < 0) {
    rest += 86'400'000'000;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  const std::int64_t ms = rest / 1'000;
  std::array<char, 64> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                    static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                    static_cast<unsigned>(date.day()), static_cast<int>(ms / 3'600'000),
                    static_cast<int>(ms / 60'000 % 60), static_cast<int>(ms / 1'000 % 60),
                    static_cast<int>(ms % 1'000));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::optional<DbTime> parse_time(std::string_view text) noexcept {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!read_digits(text, 0, 4, year) || text.size() < 10 || text[4] != '-' ||
      !read_digits(text, 5, 2, month) || text[7] != '-' || !read_digits(text, 8, 2, day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date = std::chrono::year(year) / month / day;
  if (!date.ok()) return std::nullopt;
  const std::int64_t midnight =
      days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) *
      86'400'000'000;
  if (text.size() == 10) return DbTime(midnight);

  int hour = 0;
  int minute = 0;
  int second = 0;
  if ((text[10] != 'T' && text[10] != 't' && text[10] != ' ') || !read_digits(text, 11, 2, hour) ||
      text.size() < 20 || text[13] != ':' || !read_digits(text, 14, 2, minute) || text[16] != ':' ||
      !read_digits(text, 17, 2, second) || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  std::int64_t micros = ((hour * 60LL + minute) * 60 + second) * 1'000'000;
  std::size_t at = 19;
  if (text[at] == '.') {
    std::int64_t scale = 100'000;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      micros += (text[at] - '0') * scale;
    if (at == first) return std::nullopt;
  }
  if (at >= text.size()) return std::nullopt;
  if (text[at] == 'Z' || text[at] == 'z') {
    if (at + 1 != text.size()) return std::nullopt;
  } else {
    int offset_hours = 0;
    int offset_minutes = 0;
    if ((text[at] != '+' && text[at] != '-') || text.size() != at + 6 ||
        !read_digits(text, at + 1, 2, offset_hours) || text[at + 3] != ':' ||
        !read_digits(text, at + 4, 2, offset_minutes) || offset_hours > 23 || offset_minutes > 59) {
      return std::nullopt;
    }
    const std::int64_t offset = (offset_hours * 60LL + offset_minutes) * 60 * 1'000'000;
    micros += text[at] == '+' ? -offset : offset;
  }
  return DbTime(midnight + micros);
}

}  // namespace pillarbox::core
