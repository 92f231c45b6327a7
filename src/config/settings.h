// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"

namespace pillarbox::config {

enum class Type { text, duration, duration_or_never, size, integer, choice };

// One setting of a plain section. The text form is what flags, environment and `config show` use.
struct Setting {
  std::string_view section;
  std::string_view name;
  Type type;
  std::string_view default_text;
  std::string_view allowed;  // for people: "1 to 64", "debug|info|warn|error"
  std::string_view help;
  // Takes a value of the right type; returns what is wrong with it, or nothing.
  std::function<std::optional<std::string>(Configuration&, const std::string&)> apply;
};

[[nodiscard]] std::span<const Setting> settings();
[[nodiscard]] const Setting* find_setting(std::string_view section, std::string_view name);

// Keys of [[outbox]] and [[route]] that are ours; routes and sinks have those of their sink's kind
// besides.
struct KeyHelp {
  std::string_view name;
  std::string_view type;
  std::string_view default_text;
  std::string_view help;
};
[[nodiscard]] std::span<const KeyHelp> outbox_keys();
[[nodiscard]] std::span<const KeyHelp> sink_keys();
[[nodiscard]] std::span<const KeyHelp> route_keys();

}  // namespace pillarbox::config
