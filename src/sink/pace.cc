// SPDX-License-Identifier: Apache-2.0
#include "sink/pace.h"

#include <algorithm>

#include "pillarbox/sink.h"

namespace pillarbox::sink {
namespace {

constexpr double kNewest = 1.0 / 8;      // weight of the latest call
constexpr double kHorizonSeconds = 2;    // well within the time in which a batch's calls start
constexpr double kShortest = 1e-6;       // seconds
constexpr double kRoomMost = 1'000'000;  // messages

}  // namespace

void Pace::ended(std::chrono::steady_clock::duration took) {
  const double seconds = std::max(kShortest, std::chrono::duration<double>(took).count());
  seconds_ = seconds_ == 0 ? seconds : seconds_ + (seconds - seconds_) * kNewest;
}

std::size_t Pace::room() const {
  if (seconds_ == 0) return Sink::kNoBound;
  const double rounds = std::max(1.0, kHorizonSeconds / seconds_);
  return static_cast<std::size_t>(
      std::min(kRoomMost, rounds * static_cast<double>(calls_at_once_)));
}

}  // namespace pillarbox::sink
