// SPDX-License-Identifier: Apache-2.0
// Retry delays, the breaker, and what workers know together of their routes.
#include <gtest/gtest.h>

#include <limits>

#include "core/breaker.h"
#include "core/decide.h"
#include "core/retry.h"
#include "core/route_board.h"

namespace pillarbox::core {
namespace {

using std::chrono::seconds;

class Fixed final : public Random {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  [[nodiscard]] std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};
constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();

TEST(Retry, DoublesUpToItsCapForAnyNumberOfAttempts) {
  const RetryPolicy policy{.max_attempts = 20, .base = Millis{2'000}, .cap = Millis{3'600'000}};
  EXPECT_EQ(retry_ceiling(policy, -1), Millis{2'000});
  EXPECT_EQ(retry_ceiling(policy, 1), Millis{2'000});
  EXPECT_EQ(retry_ceiling(policy, 2), Millis{4'000});
  EXPECT_EQ(retry_ceiling(policy, 11), Millis{2'048'000});
  Millis last{0};
  for (std::int32_t attempts = 1; attempts < 200; ++attempts) {
    EXPECT_GE(retry_ceiling(policy, attempts), last);
    last = retry_ceiling(policy, attempts);
  }
  EXPECT_EQ(last, policy.cap);
  EXPECT_EQ(retry_ceiling(policy, std::numeric_limits<std::int32_t>::max()), policy.cap);
}

TEST(Retry, SurvivesExtremePolicies) {
  const Millis huge = Millis::max() / 4;
  EXPECT_EQ(retry_ceiling({.max_attempts = 1, .base = Millis{1}, .cap = huge}, 1'000), huge);
  EXPECT_EQ(retry_ceiling({.max_attempts = 1, .base = Millis{500}, .cap = Millis{100}}, 3),
            Millis{100});
  SeededRandom random(1);
  EXPECT_GE(retry_delay({.max_attempts = 1, .base = Millis{0}, .cap = Millis{0}}, 5, random),
            Millis{1});
}

TEST(Retry, SpreadsOverTheWholeWidth) {
  const RetryPolicy policy{.max_attempts = 20, .base = Millis{1'000}, .cap = Millis{60'000}};
  Fixed low(0);
  Fixed high(kHighest);
  EXPECT_EQ(retry_delay(policy, 4, low), Millis{500});
  EXPECT_EQ(retry_delay(policy, 4, high), Millis{8'000});
  EXPECT_EQ(jittered(Millis{5}, Millis{5}, high), Millis{5});
  EXPECT_EQ(jittered(Millis{5}, Millis{4}, high), Millis{5});
}

TEST(Throttle, TakesTheSinksWordWithinBounds) {
  const RetryPolicy policy{.max_attempts = 20, .base = Millis{2'000}, .cap = Millis{60'000}};
  EXPECT_EQ(throttle_delay(Outcome::throttled("", "", {}), policy), Millis{2'000});
  EXPECT_EQ(throttle_delay(Outcome::throttled("", "", Millis{-5}), policy), Millis{2'000});
  EXPECT_EQ(throttle_delay(Outcome::throttled("", "", Millis{30'000}), policy), Millis{30'000});
  EXPECT_EQ(throttle_delay(Outcome::throttled("", "", Millis{99'000'000}), policy), kThrottleMax);
  const RetryPolicy slow{.max_attempts = 1, .base = Millis{9'000'000}, .cap = Millis{9'000'000}};
  EXPECT_EQ(throttle_delay(Outcome::throttled("", "", {}), slow), kThrottleMax);
}

class BreakerTest : public testing::Test {
 protected:
  Instant now{seconds(100)};
  Fixed random{kHighest};  // the longest waits
  Breaker breaker{BreakerPolicy{}};
};

TEST_F(BreakerTest, OpensAtTheFifthFailureInARow) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker.failed(now, random));
  EXPECT_FALSE(breaker.blocks(now));
  EXPECT_FALSE(breaker.answered());
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker.failed(now, random));
  EXPECT_TRUE(breaker.failed(now, random));
  EXPECT_TRUE(breaker.blocks(now));
  EXPECT_EQ(breaker.state(now), Breaker::State::open);
}

TEST_F(BreakerTest, OpensAtOnceWhenTheSinkIsDownAndLetsOneProbeThrough) {
  EXPECT_TRUE(breaker.unavailable(now, random));
  EXPECT_EQ(breaker.open_until(), now + Millis{1'000});
  now = breaker.open_until();
  EXPECT_EQ(breaker.state(now), Breaker::State::half_open);
  EXPECT_FALSE(breaker.blocks(now));
  breaker.probe_started();
  EXPECT_TRUE(breaker.blocks(now));
  EXPECT_TRUE(breaker.answered());
  EXPECT_EQ(breaker.state(now), Breaker::State::closed);
}

TEST_F(BreakerTest, WaitsTwiceAsLongAfterEachFailedProbeUpToAMinute) {
  EXPECT_TRUE(breaker.unavailable(now, random));
  for (const int expected : {2, 4, 8, 16, 32, 60, 60}) {
    now = breaker.open_until();
    breaker.probe_started();
    EXPECT_TRUE(expected % 8 == 0 ? breaker.failed(now, random) : breaker.unavailable(now, random));
    EXPECT_EQ(breaker.open_until(), now + seconds(expected));
  }
  EXPECT_FALSE(breaker.answered());  // a call that began before
  now = breaker.open_until();
  breaker.probe_started();
  EXPECT_TRUE(breaker.answered());
  EXPECT_TRUE(breaker.unavailable(now, random));
  EXPECT_EQ(breaker.open_until(), now + seconds(1));
}

TEST_F(BreakerTest, IsNotOpenedTwiceByCallsThatBeganBefore) {
  EXPECT_TRUE(breaker.unavailable(now, random));
  const Instant until = breaker.open_until();
  now += Millis{10};
  EXPECT_FALSE(breaker.unavailable(now, random));
  EXPECT_FALSE(breaker.failed(now, random));
  EXPECT_EQ(breaker.open_until(), until);
}

TEST_F(BreakerTest, IsSilentAsLongAsTheLongestWord) {
  breaker.silence(now + seconds(10));
  breaker.silence(now + seconds(5));
  EXPECT_EQ(breaker.open_until(), now + seconds(10));
  EXPECT_TRUE(breaker.blocks(now + seconds(9)));
  EXPECT_FALSE(breaker.blocks(now + seconds(10)));
}

TEST_F(BreakerTest, ComesBackAtDifferentTimesInDifferentRelays) {
  Fixed shortest(0);
  breaker.unavailable(now, shortest);
  EXPECT_EQ(breaker.open_until(), now + Millis{500});
}

// The end of a delivery of which nothing is left in flight.
RouteBoard::Change ended(RouteBoard& board, RouteIndex route, RouteBoard::CallEnd end, Instant now,
                         Random& random) {
  board.left(route);
  return board.heard(route, end, now, now, random);
}

class RouteBoardTest : public testing::Test {
 protected:
  static RouteSettings route(std::string type, std::size_t concurrency = 0) {
    RouteSettings settings;
    settings.type = std::move(type);
    settings.concurrency = concurrency;
    return settings;
  }
  Instant now{seconds(100)};
  SeededRandom random{3};
  RouteBoard board{
      {route("a.one"), route("a.*", 1), route("b.*")}, RetryPolicy{}, BreakerPolicy{}, 2};
};

TEST_F(RouteBoardTest, TakesTheFirstRouteThatMatchesAndRemembersIt) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(board.route_of("a.one"), 0U);
    EXPECT_EQ(board.route_of("a.two"), 1U);
    EXPECT_EQ(board.route_of("c"), std::nullopt);
  }
  EXPECT_EQ(board.unroutable_types(), std::vector<std::string>{"c"});
}

TEST_F(RouteBoardTest, RemembersABoundedNumberOfTypes) {
  for (std::size_t i = 0; i < RouteBoard::kTypesMax + 50; ++i)
    static_cast<void>(board.route_of("c." + std::to_string(i)));
  EXPECT_EQ(board.unroutable_types().size(), RouteBoard::kTypesMax);
  EXPECT_EQ(board.route_of("b.new"), 2U);
}

TEST_F(RouteBoardTest, PrefersARoutesOwnRetryPolicy) {
  RouteSettings own = route("*");
  own.retry = RetryPolicy{.max_attempts = 7};
  const RouteBoard other({own, route("x")}, RetryPolicy{.max_attempts = 9}, BreakerPolicy{}, 1);
  EXPECT_EQ(other.retry(0).max_attempts, 7);
  EXPECT_EQ(other.retry(1).max_attempts, 9);
}

TEST_F(RouteBoardTest, HoldsARouteToItsConcurrency) {
  using Kind = RouteBoard::Permit::Kind;
  static_cast<void>(board.route_of("a.two"));
  EXPECT_EQ(board.begin(1, now).kind, Kind::go);
  EXPECT_EQ(board.begin(1, now).kind, Kind::blocked);
  EXPECT_GT(board.begin(1, now).until, now);
  EXPECT_EQ(board.excluded_types(now), std::vector<std::string>{"a.two"});
  EXPECT_FALSE(board.take_sweep_request(now));
  EXPECT_EQ(ended(board, 1, RouteBoard::CallEnd::answered, now, random), RouteBoard::Change::none);
  EXPECT_TRUE(board.wants_sweep(now));
  EXPECT_TRUE(board.excluded_types(now).empty());
  EXPECT_TRUE(board.take_sweep_request(now));
  EXPECT_FALSE(board.take_sweep_request(now));
  EXPECT_EQ(board.begin(2, now).kind, Kind::go);
  EXPECT_EQ(board.begin(2, now).kind, Kind::go);
  EXPECT_EQ(board.begin(2, now).kind, Kind::blocked);
}

TEST_F(RouteBoardTest, LetsOneProbeThroughAfterAnOutage) {
  using Kind = RouteBoard::Permit::Kind;
  EXPECT_EQ(board.begin(0, now).kind, Kind::go);
  EXPECT_EQ(ended(board, 0, RouteBoard::CallEnd::unavailable, now, random),
            RouteBoard::Change::opened);
  const RouteBoard::Permit blocked = board.begin(0, now);
  EXPECT_EQ(blocked.kind, Kind::blocked);
  EXPECT_EQ(blocked.until, std::max(board.blocked_until(0), now + Millis{100}));
  now = board.blocked_until(0);
  EXPECT_EQ(board.breaker_state(0, now), Breaker::State::half_open);
  EXPECT_EQ(board.begin(0, now).kind, Kind::probe);
  EXPECT_EQ(board.begin(0, now).kind, Kind::blocked);
  EXPECT_EQ(board.begin(2, now).kind, Kind::go);
  EXPECT_EQ(ended(board, 0, RouteBoard::CallEnd::answered, now, random),
            RouteBoard::Change::closed);
  EXPECT_EQ(board.begin(0, now).kind, Kind::go);
}

TEST_F(RouteBoardTest, AsksForASweepWhenABrakeIsLifted) {
  board.set_brakes({"type:b.*", "all"});
  EXPECT_TRUE(board.braked("b.x"));
  EXPECT_FALSE(board.wants_sweep(now));
  board.set_brakes({"type:b.*"});
  EXPECT_TRUE(board.take_sweep_request(now));
  EXPECT_TRUE(board.braked("b.x"));
  EXPECT_FALSE(board.braked("a.one"));
  board.set_brakes({"type:a.one", "type:b.*"});
  EXPECT_FALSE(board.wants_sweep(now));
  EXPECT_TRUE(board.braked("a.one"));
}

}  // namespace
}  // namespace pillarbox::core
