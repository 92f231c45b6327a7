// SPDX-License-Identifier: Apache-2.0
#include "cli/log.h"

#include <unistd.h>

#include "cli/output.h"
#include "core/error_group.h"
#include "core/units.h"
#include "json/json.h"

namespace pillarbox::cli {
namespace {

constexpr std::chrono::seconds kFold{30};
constexpr std::size_t kRepeatsMax = 1'000;
constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};

}  // namespace

LogObserver::LogObserver(relay::Level lowest, bool json, std::string relay_name)
    : lowest_(lowest), json_(json), relay_name_(std::move(relay_name)) {}

void LogObserver::event(std::string_view name,
                        const std::vector<std::pair<std::string_view, std::string>>& fields) {
  const relay::Level level = relay::level_of(name);
  if (level < lowest_) return;
  std::string key(name);
  for (const auto& [field, value] : fields) {
    if (field == "route" || field == "outbox" || field == "type" || field == "reason")
      key += "\n" + value;
    if (field == "error") key += "\n" + core::normalise_error(value);
  }
  std::int64_t folded = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (repeats_.size() >= kRepeatsMax) repeats_.clear();
    const auto [entry, is_new] = repeats_.try_emplace(std::move(key), Repeat{now, 0});
    if (!is_new) {
      if (now - entry->second.written < kFold) {
        ++entry->second.folded;
        return;
      }
      folded = std::exchange(entry->second.folded, 0);
      entry->second.written = now;
    }
  }
  write(level, name, fields, folded);
}

void LogObserver::write(relay::Level level, std::string_view name,
                        const std::vector<std::pair<std::string_view, std::string>>& fields,
                        std::int64_t folded) const {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::string at = core::format_time(DbTime(micros.count()));
  std::string line;
  if (json_) {
    json::Writer writer;
    writer.begin_object()
        .field("ts", at)
        .field("level", kLevels[static_cast<std::size_t>(level)])
        .field("msg", name);
    writer.field("relay", relay_name_);
    for (const auto& [field, value] : fields) writer.field(field, value);
    if (folded > 0) writer.field("folded", folded);
    writer.end_object();
    line = writer.take();
  } else {
    line = at.substr(11, 12) + " " + std::string(kLevels[static_cast<std::size_t>(level)]) + " " +
           std::string(name);
    for (const auto& [field, value] : fields)
      line += " " + std::string(field) + "=" + printable(value);
    if (folded > 0) line += " (and " + std::to_string(folded) + " more like it)";
  }
  line += '\n';
  // One write a line, so that lines of several threads do not mix. A log that cannot be written
  // must not stop a delivery.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace pillarbox::cli
