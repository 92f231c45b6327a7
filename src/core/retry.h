// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/random.h"
#include "pillarbox/relay.h"

namespace pillarbox::core {

// How long to wait before the next attempt, after `attempts` of them: exponential from policy.base
// up to policy.cap, with full jitter, never shorter than half of policy.base. Any number of
// attempts is safe.
[[nodiscard]] Millis retry_delay(const RetryPolicy& policy, std::int32_t attempts, Random& random);

// The ceiling that the jitter stays below.
[[nodiscard]] Millis retry_ceiling(const RetryPolicy& policy, std::int32_t attempts) noexcept;

// Uniform in [low, high]; low when high is smaller.
[[nodiscard]] Millis jittered(Millis low, Millis high, Random& random);

}  // namespace pillarbox::core
