// SPDX-License-Identifier: Apache-2.0
#include "core/decide.h"

#include <gtest/gtest.h>

namespace pillarbox::core {
namespace {

using namespace std::chrono_literals;

const RetryPolicy kRetry{.max_attempts = 3, .base = 2s, .cap = 1h};

ClaimedMessage message(std::int32_t attempts) {
  ClaimedMessage message;
  message.lease = {RowId{7}, 4};
  message.attempts = attempts;
  return message;
}

Settlement settle(const Outcome& outcome, std::int32_t attempts = 1) {
  SeededRandom random(3);
  return settlement_for(outcome, message(attempts), kRetry, KeyPolicy::park, 9s, random);
}

TEST(SettlementFor, MarksWhatWasDelivered) {
  const Settlement settlement = settle(Outcome::delivered());
  EXPECT_EQ(settlement.kind, SettleKind::dispatched);
  EXPECT_EQ(settlement.lease, (Lease{RowId{7}, 4}));
  EXPECT_TRUE(settlement.code.empty());
  EXPECT_TRUE(settlement.error.empty());
}

TEST(SettlementFor, RetriesWhatMayWorkLaterUpToTheCap) {
  for (const std::int32_t attempts : {1, 2}) {
    const Settlement settlement = settle(Outcome::transient("http_503", "busy"), attempts);
    EXPECT_EQ(settlement.kind, SettleKind::retry);
    EXPECT_GE(settlement.delay, 1s);
    EXPECT_LE(settlement.delay, 2s * attempts);
    EXPECT_EQ(settlement.code, "http_503");
    EXPECT_EQ(settlement.error, "busy");
  }
  for (const std::int32_t attempts : {3, 4}) {
    const Settlement settlement = settle(Outcome::transient("http_503", "busy"), attempts);
    EXPECT_EQ(settlement.kind, SettleKind::dead);
    EXPECT_EQ(settlement.reason, DeadReason::attempts);
    EXPECT_EQ(settlement.key_policy, KeyPolicy::park);
  }
}

TEST(SettlementFor, BuriesWhatCannotWorkAtOnce) {
  const Settlement settlement = settle(Outcome::permanent("http_400", "no such user"));
  EXPECT_EQ(settlement.kind, SettleKind::dead);
  EXPECT_EQ(settlement.reason, DeadReason::permanent);
  EXPECT_EQ(settlement.key_policy, KeyPolicy::park);
  EXPECT_EQ(settlement.code, "http_400");
  EXPECT_EQ(settlement.error, "no such user");
}

// An outage is not poison: at the cap of attempts too the message goes back.
TEST(SettlementFor, GivesTheAttemptBackWhereTheSinkIsAtFault) {
  const Settlement down = settle(Outcome::unavailable("refused", "nobody there"), 3);
  EXPECT_EQ(down.kind, SettleKind::release);
  EXPECT_EQ(down.delay, 9s);
  EXPECT_EQ(down.code, "refused");
  const Settlement throttled = settle(Outcome::throttled("http_429", "slower", 30s), 3);
  EXPECT_EQ(throttled.kind, SettleKind::release);
  EXPECT_EQ(throttled.delay, 30s);
  EXPECT_EQ(throttled.code, "http_429");
}

TEST(ThrottleDelay, StaysBetweenTheFirstRetryAndAnHour) {
  const auto asked = [](std::optional<Millis> after, Millis base = 2s) {
    return throttle_delay(Outcome::throttled("c", "e", after), {.base = base});
  };
  EXPECT_EQ(asked({}), 2s);
  EXPECT_EQ(asked(0ms), 2s);
  EXPECT_EQ(asked(-5s), 2s);
  EXPECT_EQ(asked(3s), 3s);
  EXPECT_EQ(asked(61min), 1h);
  EXPECT_EQ(asked(3s, 2h), 1h);
}

TEST(DeadOnArrival, TellsMalformedThenExpiredThenPoison) {
  ClaimedMessage bad = message(4);
  EXPECT_EQ(dead_on_arrival(bad, kRetry), DeadReason::poison);
  bad.expired = true;
  EXPECT_EQ(dead_on_arrival(bad, kRetry), DeadReason::expired);
  bad.defect = "headers are not an object";
  EXPECT_EQ(dead_on_arrival(bad, kRetry), DeadReason::malformed);
  EXPECT_EQ(dead_on_arrival(message(3), kRetry), std::nullopt) << "the last permitted attempt";
}

}  // namespace
}  // namespace pillarbox::core
