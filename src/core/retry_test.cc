// SPDX-License-Identifier: Apache-2.0
#include "core/retry.h"

#include <gtest/gtest.h>

namespace pillarbox::core {
namespace {

using namespace std::chrono_literals;

class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t value) : value_(value) {}
  [[nodiscard]] std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

// About attempt 35 the wait of an outbox became zero, since a shift ran out of bits: whatever the
// number of attempts and the first wait, it stays between half of the first and the last.
TEST(RetryDelay, StaysWithinItsBoundsForAnyNumberOfAttempts) {
  FixedRandom low(0);
  FixedRandom high(~0ULL);
  for (const Millis base : {1ms, 2ms, 999ms, 2'000ms, 60'000ms, 3'600'000ms, 86'400'000ms}) {
    for (const Millis cap : {Millis{86'400'000}, Millis{7 * 86'400'000LL}, Millis::max()}) {
      const RetryPolicy policy{.base = base, .cap = cap};
      Millis before{0};
      for (std::int32_t attempts = 0; attempts <= 10'000; ++attempts) {
        const Millis ceiling = retry_ceiling(policy, attempts);
        ASSERT_GE(ceiling, before) << base.count() << " attempt " << attempts;
        ASSERT_GE(ceiling, base);
        ASSERT_LE(ceiling, cap);
        ASSERT_GE(retry_delay(policy, attempts, low), std::max(1ms, base / 2));
        ASSERT_EQ(retry_delay(policy, attempts, high), ceiling);
        before = ceiling;
      }
      EXPECT_EQ(before, cap);
    }
  }
}

TEST(RetryDelay, DoublesFromTheFirstToTheCap) {
  const RetryPolicy policy{.base = 100ms, .cap = 1'000ms};
  EXPECT_EQ(retry_ceiling(policy, 0), 100ms);
  EXPECT_EQ(retry_ceiling(policy, 1), 100ms);
  EXPECT_EQ(retry_ceiling(policy, 2), 200ms);
  EXPECT_EQ(retry_ceiling(policy, 4), 800ms);
  EXPECT_EQ(retry_ceiling(policy, 5), 1'000ms);
}

TEST(RetryDelay, IsNeverZeroNorAboveACapThatIsBelowTheFirst) {
  FixedRandom low(0);
  EXPECT_EQ(retry_delay({.base = 0ms, .cap = 0ms}, 3, low), 1ms);
  EXPECT_EQ(retry_delay({.base = 1ms, .cap = 1ms}, 3, low), 1ms);
  EXPECT_EQ(retry_ceiling({.base = 10s, .cap = 1s}, 1), 1s);
  EXPECT_EQ(retry_delay({.base = 10s, .cap = 1s}, 1, low), 1s);
}

// Relays that failed together must not come back together.
TEST(RetryDelay, IsSpreadOverTheWholeRange) {
  SeededRandom random(7);
  const RetryPolicy policy{.base = 2'000ms, .cap = 3'600'000ms};
  Millis least = Millis::max();
  Millis most{0};
  for (int i = 0; i < 2'000; ++i) {
    const Millis delay = retry_delay(policy, 6, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_LT(least, 3'000ms);
  EXPECT_GT(most, 62'000ms);
}

TEST(Jitter, IncludesBothEndsAndTakesTheLowerOfAnEmptyRange) {
  FixedRandom low(0);
  FixedRandom high(~0ULL);
  EXPECT_EQ(jittered(5ms, 9ms, low), 5ms);
  EXPECT_EQ(jittered(5ms, 9ms, high), 9ms);
  EXPECT_EQ(jittered(5ms, 5ms, high), 5ms);
  EXPECT_EQ(jittered(5ms, 4ms, high), 5ms);
  EXPECT_EQ(high.below(0), 0U);
}

}  // namespace
}  // namespace pillarbox::core
