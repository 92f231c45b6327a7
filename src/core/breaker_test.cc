// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include <gtest/gtest.h>

namespace pillarbox::core {
namespace {

using namespace std::chrono_literals;
using State = Breaker::State;

class BreakerTest : public ::testing::Test {
 protected:
  SeededRandom random_{11};
  Instant now_{1h};
  Breaker breaker_{BreakerPolicy{}};

  void fail_until_open() {
    for (int i = 0; i < 5; ++i) static_cast<void>(breaker_.failed(now_, random_));
  }
  void go_to_half_open() { now_ = breaker_.open_until(); }
};

TEST_F(BreakerTest, OpensAfterFiveFailuresInARow) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker_.failed(now_, random_));
  EXPECT_EQ(breaker_.state(now_), State::closed);
  EXPECT_FALSE(breaker_.blocks(now_));
  EXPECT_TRUE(breaker_.failed(now_, random_));
  EXPECT_EQ(breaker_.state(now_), State::open);
  EXPECT_TRUE(breaker_.blocks(now_));
}

TEST_F(BreakerTest, CountsFailuresInARowOnly) {
  for (int i = 0; i < 4; ++i) static_cast<void>(breaker_.failed(now_, random_));
  EXPECT_FALSE(breaker_.answered());
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker_.failed(now_, random_));
  EXPECT_TRUE(breaker_.failed(now_, random_));
}

TEST_F(BreakerTest, OpensAtOnceWhenTheSinkIsDown) {
  EXPECT_TRUE(breaker_.unavailable(now_, random_));
  EXPECT_EQ(breaker_.state(now_), State::open);
  EXPECT_FALSE(breaker_.unavailable(now_, random_)) << "a call that began before";
}

TEST_F(BreakerTest, LetsOneProbeGoWhenItsTimeHasCome) {
  fail_until_open();
  EXPECT_TRUE(breaker_.blocks(breaker_.open_until() - 1ns));
  go_to_half_open();
  EXPECT_EQ(breaker_.state(now_), State::half_open);
  EXPECT_FALSE(breaker_.blocks(now_));
  breaker_.probe_started();
  EXPECT_TRUE(breaker_.blocks(now_));
}

TEST_F(BreakerTest, ClosesWhenTheProbeIsAnswered) {
  fail_until_open();
  go_to_half_open();
  breaker_.probe_started();
  EXPECT_TRUE(breaker_.answered());
  EXPECT_EQ(breaker_.state(now_), State::closed);
  EXPECT_FALSE(breaker_.answered()) << "it was closed already";
}

TEST_F(BreakerTest, DoublesFromOneSecondToSixtyWithEachFailedProbe) {
  ASSERT_TRUE(breaker_.unavailable(now_, random_));
  for (const Millis ceiling : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s}) {
    EXPECT_GE(breaker_.open_until() - now_, ceiling / 2);
    EXPECT_LE(breaker_.open_until() - now_, ceiling);
    go_to_half_open();
    breaker_.probe_started();
    EXPECT_TRUE(breaker_.failed(now_, random_));
    EXPECT_EQ(breaker_.state(now_), State::open);
  }
  go_to_half_open();
  breaker_.probe_started();
  EXPECT_TRUE(breaker_.answered());
  ASSERT_TRUE(breaker_.unavailable(now_, random_));
  EXPECT_LE(breaker_.open_until() - now_, 1s) << "a closed breaker starts anew";
}

// Two workers deliver, the sink asks one of them for silence, then answers the other: the silence
// holds.
TEST_F(BreakerTest, IgnoresTheEndOfCallsThatBeganBeforeItOpened) {
  breaker_.silence(now_ + 1h);
  EXPECT_FALSE(breaker_.answered());
  EXPECT_FALSE(breaker_.failed(now_, random_));
  EXPECT_FALSE(breaker_.unavailable(now_, random_));
  EXPECT_EQ(breaker_.state(now_ + 59min), State::open);
  EXPECT_EQ(breaker_.open_until(), now_ + 1h);
}

TEST_F(BreakerTest, TakesTheLongerOfTwoSilences) {
  breaker_.silence(now_ + 10s);
  breaker_.silence(now_ + 5s);
  EXPECT_EQ(breaker_.open_until(), now_ + 10s);
  breaker_.silence(now_ + 20s);
  EXPECT_EQ(breaker_.open_until(), now_ + 20s);
}

TEST_F(BreakerTest, DoesNotCountAnOldOpeningTowardsASilence) {
  ASSERT_TRUE(breaker_.unavailable(now_, random_));
  go_to_half_open();
  breaker_.probe_started();
  EXPECT_TRUE(breaker_.answered());
  breaker_.silence(now_ + 1ms);
  EXPECT_EQ(breaker_.open_until(), now_ + 1ms);
}

}  // namespace
}  // namespace pillarbox::core
