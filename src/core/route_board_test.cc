// SPDX-License-Identifier: Apache-2.0
#include "core/route_board.h"

#include <gtest/gtest.h>

namespace pillarbox::core {
namespace {

using namespace std::chrono_literals;
using Kind = RouteBoard::Permit::Kind;
using CallEnd = RouteBoard::CallEnd;
using Change = RouteBoard::Change;
using Types = std::vector<std::string>;

// The end of a delivery of which nothing is left in flight.
RouteBoard::Change ended(RouteBoard& board, RouteIndex route, RouteBoard::CallEnd end, Instant now,
                         Random& random) {
  board.left(route);
  return board.heard(route, end, now, now, random);
}

class RouteBoardTest : public ::testing::Test {
 protected:
  static std::vector<RouteSettings> routes() {
    RouteSettings mail{.name = "mail", .type = "email.*", .sink = "m"};
    mail.retry = RetryPolicy{.max_attempts = 2};
    RouteSettings single{.name = "single", .type = "one.v1", .sink = "s"};
    single.concurrency = 1;
    RouteSettings late{.name = "late", .type = "email.late.*", .sink = "l"};
    return {mail, single, late};
  }
  SeededRandom random_{5};
  Instant now_{1h};
  RouteBoard board_{routes(), RetryPolicy{.max_attempts = 9}, BreakerPolicy{}, 2};

  void open(RouteIndex route) {
    ASSERT_EQ(board_.begin(route, now_).kind, Kind::go);
    ASSERT_EQ(ended(board_, route, RouteBoard::CallEnd::unavailable, now_, random_),
              Change::opened);
  }
};

TEST_F(RouteBoardTest, TakesTheFirstRouteThatMatches) {
  EXPECT_EQ(board_.size(), 3U);
  EXPECT_EQ(board_.route_of("email.late.v1"), RouteIndex{0});
  EXPECT_EQ(board_.route_of("one.v1"), RouteIndex{1});
  EXPECT_EQ(board_.route_of("one.v2"), std::nullopt);
  EXPECT_EQ(board_.route_of("one.v2"), std::nullopt);
  EXPECT_EQ(board_.settings(1).name, "single");
  EXPECT_EQ(board_.retry(0).max_attempts, 2);
  EXPECT_EQ(board_.retry(1).max_attempts, 9);
}

TEST_F(RouteBoardTest, LeavesTypesWithoutARouteAloneAndShowsThem) {
  static_cast<void>(board_.route_of("one.v1"));
  static_cast<void>(board_.route_of("lost.v1"));
  EXPECT_EQ(board_.excluded_types(now_), Types{"lost.v1"});
  EXPECT_EQ(board_.unroutable_types(), Types{"lost.v1"});
  EXPECT_TRUE(board_.remembers("lost.v1"));
  EXPECT_FALSE(board_.remembers("new.v1"));
}

// Types are the producers' words: any number of them must not fill the relay's memory.
TEST_F(RouteBoardTest, RemembersAThousandTypesAndNoMore) {
  for (std::size_t i = 0; i < RouteBoard::kTypesMax + 50; ++i)
    static_cast<void>(board_.route_of("t" + std::to_string(i)));
  EXPECT_EQ(board_.excluded_types(now_).size(), RouteBoard::kTypesMax);
  EXPECT_FALSE(board_.remembers("t1049"));
  EXPECT_EQ(board_.route_of("one.v1"), RouteIndex{1}) << "still routed, only not remembered";
}

TEST_F(RouteBoardTest, LeavesTheTypesOfARouteAloneWhileItIsDownAndLooksForThemAfter) {
  static_cast<void>(board_.route_of("email.a"));
  static_cast<void>(board_.route_of("one.v1"));
  EXPECT_TRUE(board_.excluded_types(now_).empty());
  open(0);
  EXPECT_EQ(board_.breaker_state(0, now_), Breaker::State::open);
  EXPECT_EQ(board_.excluded_types(now_), Types{"email.a"});
  EXPECT_FALSE(board_.wants_sweep(now_));
  EXPECT_FALSE(board_.take_sweep_request(now_));
  now_ = board_.blocked_until(0);
  EXPECT_TRUE(board_.wants_sweep(now_)) << "before anybody asked for the excluded types again";
  EXPECT_TRUE(board_.excluded_types(now_).empty());
  EXPECT_TRUE(board_.take_sweep_request(now_));
  EXPECT_FALSE(board_.take_sweep_request(now_));
}

TEST_F(RouteBoardTest, LetsOneProbeGoAndClosesWithIt) {
  open(0);
  const auto blocked = board_.begin(0, now_);
  EXPECT_EQ(blocked.kind, Kind::blocked);
  EXPECT_EQ(blocked.until, board_.blocked_until(0));
  now_ = board_.blocked_until(0);
  EXPECT_EQ(board_.begin(0, now_).kind, Kind::probe);
  const auto second = board_.begin(0, now_);
  EXPECT_EQ(second.kind, Kind::blocked);
  EXPECT_GT(second.until, now_) << "else its messages would be claimed again at once";
  EXPECT_EQ(ended(board_, 0, RouteBoard::CallEnd::answered, now_, random_), Change::closed);
  EXPECT_EQ(board_.begin(0, now_).kind, Kind::go);
  EXPECT_EQ(ended(board_, 0, RouteBoard::CallEnd::answered, now_, random_), Change::none);
}

TEST_F(RouteBoardTest, OpensAfterFiveTransientCalls) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(board_.begin(0, now_).kind, Kind::go);
    EXPECT_EQ(ended(board_, 0, RouteBoard::CallEnd::all_transient, now_, random_), Change::none);
  }
  ASSERT_EQ(board_.begin(0, now_).kind, Kind::go);
  EXPECT_EQ(ended(board_, 0, RouteBoard::CallEnd::all_transient, now_, random_), Change::opened);
}

TEST_F(RouteBoardTest, RunsNoMoreCallsOfARouteThanItMay) {
  static_cast<void>(board_.route_of("one.v1"));
  ASSERT_EQ(board_.begin(1, now_).kind, Kind::go);
  const auto second = board_.begin(1, now_);
  EXPECT_EQ(second.kind, Kind::blocked);
  EXPECT_GT(second.until, now_);
  EXPECT_EQ(board_.excluded_types(now_), Types{"one.v1"});
  EXPECT_EQ(ended(board_, 1, RouteBoard::CallEnd::answered, now_, random_), Change::none);
  EXPECT_TRUE(board_.excluded_types(now_).empty());
  EXPECT_EQ(board_.begin(1, now_).kind, Kind::go);

  EXPECT_EQ(board_.begin(0, now_).kind, Kind::go);
  EXPECT_EQ(board_.begin(0, now_).kind, Kind::go);
  EXPECT_EQ(board_.begin(0, now_).kind, Kind::blocked) << "as many as there are workers";
}

TEST_F(RouteBoardTest, KeepsSilenceThroughTheEndOfOtherCalls) {
  ASSERT_EQ(board_.begin(0, now_).kind, Kind::go);
  board_.silence(0, now_ + 10min);
  EXPECT_EQ(ended(board_, 0, RouteBoard::CallEnd::answered, now_, random_), Change::none);
  EXPECT_EQ(board_.begin(0, now_ + 9min).kind, Kind::blocked);
  EXPECT_EQ(board_.begin(0, now_ + 10min).kind, Kind::probe);
}

TEST_F(RouteBoardTest, KnowsTheBrakesAndSweepsWhenOneIsLifted) {
  EXPECT_FALSE(board_.braked("email.a"));
  board_.set_brakes({"type:one.v1", "type:email.*"});
  EXPECT_FALSE(board_.wants_sweep(now_));
  EXPECT_TRUE(board_.braked("email.a"));
  EXPECT_TRUE(board_.braked("one.v1"));
  EXPECT_FALSE(board_.braked("one.v2"));
  board_.set_brakes({"type:email.*", "all"});
  EXPECT_TRUE(board_.braked("one.v2"));
  EXPECT_TRUE(board_.take_sweep_request(now_)) << "one was lifted, one came";
  board_.set_brakes({"all", "type:email.*"});
  EXPECT_FALSE(board_.take_sweep_request(now_)) << "only the order changed";
  board_.set_brakes({});
  EXPECT_TRUE(board_.take_sweep_request(now_));
}

}  // namespace
}  // namespace pillarbox::core
