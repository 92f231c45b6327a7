// SPDX-License-Identifier: Apache-2.0
#include "sink/setting_values.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/assert.h"
#include "core/units.h"
#include "pillarbox/error.h"

namespace pillarbox::sink {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const SinkSetting& SettingValues::find(std::string_view name) const {
  for (const SinkSetting& setting : table_) {
    if (setting.name == name) return setting;
  }
  core::assertion_failed("a sink asks only for settings of its own table", __FILE__, __LINE__);
}

void SettingValues::refuse(std::string_view name, const std::string& why) const {
  const bool of_route = std::any_of(table_.begin(), table_.end(), [&](const SinkSetting& s) {
    return s.name == name && s.place == SinkSetting::Place::route;
  });
  throw Error(ErrorKind::invalid_input, "PBX-5002",
              of_route
                  ? "a route to sink \"" + settings_.name + "\": " + std::string(name) + " " + why
                  : "sink." + settings_.name + "." + std::string(name) + " " + why);
}

std::string SettingValues::text(std::string_view name) const {
  const SinkSetting& setting = find(name);
  const auto& given = setting.place == SinkSetting::Place::route ? settings_.route : settings_.sink;
  const auto found = given.find(std::string(name));
  return found == given.end() ? std::string(setting.default_value) : found->second;
}

std::string SettingValues::choice(std::string_view name) const {
  std::string value = text(name);
  std::string_view rest = find(name).choices;
  std::string known;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('|'));
    if (value == one) return value;
    known += (known.empty() ? "\"" : ", \"") + std::string(one) + "\"";
    rest.remove_prefix(one.size() == rest.size() ? one.size() : one.size() + 1);
  }
  refuse(name, "is \"" + value + "\"; it may be " + known);
}

std::vector<std::string> SettingValues::list(std::string_view name) const {
  const std::string value = text(name);
  std::vector<std::string> out;
  for (std::size_t start = 0; start < value.size();) {
    const std::size_t end = std::min(value.find('\n', start), value.size());
    out.push_back(value.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

bool SettingValues::boolean(std::string_view name) const {
  const std::string value = text(name);
  if (value == "true") return true;
  if (value == "false") return false;
  refuse(name, "is \"" + value + "\"; it may be true or false");
}

Millis SettingValues::duration(std::string_view name, Millis low, Millis high) const {
  const std::string value = text(name);
  const std::optional<Millis> read = core::parse_duration(value);
  if (read && *read >= low && *read <= high) return *read;
  refuse(name, "is \"" + value + "\"; it may be a duration from " + core::format_duration(low) +
                   " to " + core::format_duration(high) + ", such as \"500ms\", \"20s\" or \"1h\"");
}

std::int64_t SettingValues::integer(std::string_view name, std::int64_t low,
                                    std::int64_t high) const {
  const std::string value = text(name);
  const std::optional<std::int64_t> read = whole_number(value);
  if (read && *read >= low && *read <= high) return *read;
  refuse(name, "is \"" + value + "\"; it may be a whole number from " + std::to_string(low) +
                   " to " + std::to_string(high));
}

}  // namespace pillarbox::sink
