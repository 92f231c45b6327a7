// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/sink.h"

namespace pillarbox::sink {

// Reads a sink's settings by its own table: the configured text, or the table's default. Each call
// throws Error(invalid_input, PBX-5002) that names the key and what would be right. Both referents
// outlive the reader.
class SettingValues {
 public:
  SettingValues(const SinkSettings& settings, std::span<const SinkSetting> table)
      : settings_(settings), table_(table) {}

  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::string choice(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] Millis duration(std::string_view name, Millis low, Millis high) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t low,
                                     std::int64_t high) const;

  // The same error for what only the sink itself can see. `name` may also be one of the keys that
  // every sink has: "url", "secrets".
  [[noreturn]] void refuse(std::string_view name, const std::string& why) const;

 private:
  [[nodiscard]] const SinkSetting& find(std::string_view name) const;

  const SinkSettings& settings_;
  const std::span<const SinkSetting> table_;
};

}  // namespace pillarbox::sink
