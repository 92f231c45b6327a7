// SPDX-License-Identifier: Apache-2.0
// The waker listens for commits while a worker is idle. Polling by the workers finds everything
// without it.
#include <algorithm>

#include "core/retry.h"
#include "pillarbox/error.h"
#include "relay/outbox_run.h"

namespace pillarbox::relay {
namespace {

constexpr Millis kRampFirst{2};
constexpr Millis kRampMax{50};
constexpr RetryPolicy kReconnect{.max_attempts = 0, .base = Millis{200}, .cap = Millis{10'000}};

Instant now() { return std::chrono::steady_clock::now(); }

}  // namespace

OutboxRun::Check OutboxRun::check_now(Instant until, const std::stop_token& stop) {
  const Lock lock(mutex_);
  if (idle_workers() == 0) return Check::found;  // somebody is at work anyway
  check_ = Check::asked;
  wake_one();
  while (check_ == Check::asked && !stop.stop_requested() && now() < until)
    changed_.wait_until(mutex_, until);
  return std::exchange(check_, Check::none);
}

void OutboxRun::run_waker(const std::stop_token& stop) {
  std::unique_ptr<WakeSource> source;
  Millis ramp = kRampFirst;
  std::int32_t failures = 0;
  while (!stop.stop_requested()) {
    {
      const Lock lock(mutex_);
      while (idle_workers() == 0 && !stop.stop_requested())
        changed_.wait_until(mutex_, now() + Millis{1'000});
    }
    if (stop.stop_requested()) return;
    try {
      if (!source) source = factory_.wake_source(options_);
      const WakeSource::Armed armed = source->arm();
      failures = 0;
      if (armed == WakeSource::Armed::deaf) {
        sleep_until(now() + settings_.poll_interval, stop);
        continue;
      }
      // Commits between the last claim and arm() went unheard: look once more.
      if (check_now(now() + settings_.poll_interval, stop) == Check::found) {
        source->disarm();
        ramp = kRampFirst;
        continue;
      }
      if (armed == WakeSource::Armed::racing) {
        sleep_until(now() + ramp, stop);
        ramp = std::min(ramp * 2, kRampMax);
        continue;
      }
      if (source->wait(now() + settings_.poll_interval, stop)) {
        source->disarm();
        ramp = kRampFirst;
        const Lock lock(mutex_);
        wake_one();
      }
    } catch (const Error& error) {
      // A lost source is made anew; after it, arm() and the check that follows find what was
      // missed.
      source.reset();
      ++failures;
      reporter_.tell(kWakeFailed, {{"code", std::string(error.code())}, {"error", error.what()}});
      sleep_until(now() + core::retry_ceiling(kReconnect, failures), stop);
    }
  }
}

}  // namespace pillarbox::relay
