// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include <algorithm>

#include "core/retry.h"

namespace pillarbox::core {

Breaker::State Breaker::state(Instant now) const noexcept {
  if (!open_) return State::closed;
  return now < open_until_ ? State::open : State::half_open;
}

bool Breaker::blocks(Instant now) const noexcept {
  const State at = state(now);
  return at == State::open || (at == State::half_open && probing_);
}

bool Breaker::answered() noexcept {
  // A call that began before the breaker opened: the probe will tell, after the silence that was
  // asked for.
  if (open_ && !probing_) return false;
  const bool closes = open_;
  open_ = false;
  probing_ = false;
  failures_ = 0;
  openings_ = 0;
  return closes;
}

bool Breaker::failed(Instant now, Random& random) {
  ++failures_;
  if (open_ && !probing_) return false;  // a call that began before the breaker opened
  if (!open_ && failures_ < policy_.failures_in_a_row) return false;
  open(now, random);
  return true;
}

bool Breaker::unavailable(Instant now, Random& random) {
  ++failures_;
  if (open_ && !probing_) return false;
  open(now, random);
  return true;
}

void Breaker::silence(Instant until) noexcept {
  open_until_ = open_ ? std::max(open_until_, until) : until;
  open_ = true;
  probing_ = false;
}

void Breaker::open(Instant now, Random& random) {
  RetryPolicy backoff;
  backoff.base = policy_.open_min;
  backoff.cap = policy_.open_max;
  ++openings_;
  const Millis ceiling = retry_ceiling(backoff, openings_);
  // Half jitter: relays must not come back together, nor at once.
  open_until_ = now + jittered(ceiling / 2, ceiling, random);
  open_ = true;
  probing_ = false;
}

}  // namespace pillarbox::core
