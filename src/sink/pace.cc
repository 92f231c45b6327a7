// SPDX-License-Identifier: Apache-2.0
#include "sink/pace.h"

#include <algorithm>

#include "pillarbox/sink.h"

namespace pillarbox::sink {
namespace {

constexpr double kNewest = 1.0 / 8;      // weight of the latest call
constexpr double kHorizonSeconds = 0.8;  // a batch's calls start within one second
constexpr double kShortest = 1e-6;       // seconds
constexpr double kRoomMost = 1'000'000;  // messages

}  // namespace

void Pace::ended(std::chrono::steady_clock::duration took) {
  const double seconds = std::max(kShortest, std::chrono::duration<double>(took).count());
  seconds_ = seconds_ == 0 ? seconds : seconds_ + (seconds - seconds_) * kNewest;
}

std::size_t Pace::room(std::size_t calls_running) const {
  const std::size_t free = calls_at_once_ - std::min(calls_at_once_, calls_running);
  if (free == 0) return 0;
  if (seconds_ == 0) return calls_running == 0 ? Sink::kNoBound : free;
  // Of the horizon the last ones to start wait for one call to end.
  const double soon =
      static_cast<double>(calls_at_once_) * std::max(0.0, kHorizonSeconds - seconds_) / seconds_;
  return free + static_cast<std::size_t>(std::min(kRoomMost, soon));
}

}  // namespace pillarbox::sink
