// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/random.h"
#include "pillarbox/sink.h"

namespace pillarbox::core {

struct BreakerPolicy {
  std::int32_t failures_in_a_row =
      5;                   // calls in which nothing was delivered and everything was transient
  Millis open_min{1'000};  // doubles with each failed probe
  Millis open_max{60'000};
};

// The circuit breaker of one route. closed: calls go. open: none goes until open_until().
// half_open: one probe goes, and its end closes the breaker or opens it for longer.
class Breaker {
 public:
  enum class State { closed, open, half_open };

  explicit Breaker(BreakerPolicy policy) : policy_(policy) {}

  [[nodiscard]] State state(Instant now) const noexcept;
  [[nodiscard]] Instant open_until() const noexcept { return open_until_; }
  // open, or half-open with its probe on the way.
  [[nodiscard]] bool blocks(Instant now) const noexcept;

  void probe_started() noexcept { probing_ = true; }
  // The probe was not sent after all: the next call is the probe.
  void probe_given_up() noexcept { probing_ = false; }
  // Something was delivered, or the sink answered about single messages. True when this closed the
  // breaker; only a probe closes it.
  bool answered() noexcept;
  // A call in which everything was transient. True when this opened the breaker.
  bool failed(Instant now, Random& random);
  // The sink as a whole is down. True when this opened the breaker.
  bool unavailable(Instant now, Random& random);
  // The sink told us how long to be silent.
  void silence(Instant until) noexcept;

 private:
  void open(Instant now, Random& random);

  BreakerPolicy policy_;
  bool open_ = false;
  bool probing_ = false;
  std::int32_t failures_ = 0;
  std::int32_t openings_ = 0;  // since it was last closed
  Instant open_until_{};
};

}  // namespace pillarbox::core
