// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/context.h"

namespace pillarbox::cli {

// How far a long act is, on stderr: after a second a line that is rewritten on a terminal, else a
// line every 30 s. Nothing with --quiet.
class Progress {
 public:
  // `total` 0: unknown.
  Progress(const Context& context, std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  const Context& context_;
  const std::string what_;
  const std::int64_t total_;
  const bool terminal_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace pillarbox::cli
