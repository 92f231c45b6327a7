// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/random.h"
#include "pillarbox/relay.h"

namespace pillarbox::core {

// What to write for a message after a delivery with this outcome.
//   delivered → dispatched · transient → retry, or dead `attempts` at the cap · permanent → dead
//   throttled → released until the sink's time, at least retry.base, at most kThrottleMax ·
//   unavailable → released for `back_off`
[[nodiscard]] Settlement settlement_for(const Outcome& outcome, const ClaimedMessage& message,
                                        const RetryPolicy& retry, KeyPolicy on_dead,
                                        Millis back_off, Random& random);

constexpr Millis kThrottleMax{3'600'000};

// The silence that a throttling sink gets: its own word within bounds, else the base of the
// backoff.
[[nodiscard]] Millis throttle_delay(const Outcome& outcome, const RetryPolicy& retry) noexcept;

// Why a claimed message must not be delivered at all; nullopt: deliver it.
[[nodiscard]] std::optional<DeadReason> dead_on_arrival(const ClaimedMessage& message,
                                                        const RetryPolicy& retry) noexcept;

}  // namespace pillarbox::core
