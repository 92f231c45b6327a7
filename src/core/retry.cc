// SPDX-License-Identifier: Apache-2.0
#include "core/retry.h"

#include <algorithm>

namespace pillarbox::core {

Millis retry_ceiling(const RetryPolicy& policy, std::int32_t attempts) noexcept {
  // The exponent is clamped first: a shift past the width of the number would make the wait short
  // again.
  Millis ceiling = std::min(policy.base, policy.cap);
  for (std::int32_t i = 1; i < attempts && ceiling < policy.cap; ++i)
    ceiling = ceiling > policy.cap / 2 ? policy.cap : ceiling * 2;
  return ceiling;
}

Millis jittered(Millis low, Millis high, Random& random) {
  if (high <= low) return low;
  const auto width = static_cast<std::uint64_t>((high - low).count());
  return low + Millis(static_cast<std::int64_t>(random.below(width + 1)));
}

Millis retry_delay(const RetryPolicy& policy, std::int32_t attempts, Random& random) {
  const Millis ceiling = retry_ceiling(policy, attempts);
  const Millis low = std::max(Millis{1}, std::min(policy.base / 2, ceiling));
  return jittered(low, ceiling, random);
}

}  // namespace pillarbox::core
