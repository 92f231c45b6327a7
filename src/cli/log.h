// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "pillarbox/relay.h"
#include "relay/events.h"

namespace pillarbox::cli {

// The relay's events as log lines on stderr: one JSON object a line, or text on a terminal. An
// event that repeats with the same words is written once, then counted every 30 s. Never a payload,
// never a credential. Thread-safe.
class LogObserver final : public Observer {
 public:
  LogObserver(relay::Level lowest, bool json, std::string relay_name);
  void event(std::string_view name,
             const std::vector<std::pair<std::string_view, std::string>>& fields) override;

 private:
  struct Repeat {
    std::chrono::steady_clock::time_point written;
    std::int64_t folded = 0;
  };
  void write(relay::Level level, std::string_view name,
             const std::vector<std::pair<std::string_view, std::string>>& fields,
             std::int64_t folded) const;

  const relay::Level lowest_;
  const bool json_;
  const std::string relay_name_;
  std::mutex mutex_;  // guards repeats_
  std::map<std::string, Repeat> repeats_;
};

}  // namespace pillarbox::cli
