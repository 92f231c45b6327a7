// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace pillarbox::sink {

// How fast the calls of one sink end, and so how many messages it can use next. For sinks whose
// calls carry one message each. Used by one thread at a time.
class Pace {
 public:
  explicit Pace(std::size_t calls_at_once) : calls_at_once_(calls_at_once) {}

  void ended(std::chrono::steady_clock::duration took);

  // What the calls that are free can start at once, and what all of them can start in the time in
  // which a batch's calls start; 0 when none is free. Sink::kNoBound while nothing is known and
  // nothing runs.
  [[nodiscard]] std::size_t room(std::size_t calls_running) const;

 private:
  std::size_t calls_at_once_;
  double seconds_ = 0;  // that a call takes, the latest ones counting most; 0: none has ended
};

}  // namespace pillarbox::sink
