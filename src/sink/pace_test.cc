// SPDX-License-Identifier: Apache-2.0
#include "sink/pace.h"

#include <gtest/gtest.h>

#include "pillarbox/sink.h"

namespace pillarbox::sink {
namespace {

using namespace std::chrono_literals;

TEST(Pace, SetsNoBoundBeforeACallHasEnded) { EXPECT_EQ(Pace(4).room(), Sink::kNoBound); }

TEST(Pace, LeavesRoomForWhatTheCallsDoInTwoSeconds) {
  Pace pace(4);
  pace.ended(500ms);
  EXPECT_EQ(pace.room(), 16U);
}

TEST(Pace, LeavesRoomForEachCallHoweverSlowTheyAre) {
  Pace pace(4);
  pace.ended(1h);
  EXPECT_EQ(pace.room(), 4U);
}

TEST(Pace, FollowsAnEndpointThatTurnsSlowAndOneThatRecovers) {
  Pace pace(10);
  pace.ended(1ms);
  EXPECT_EQ(pace.room(), 20'000U);
  for (int i = 0; i < 40; ++i) pace.ended(1s);
  EXPECT_LE(pace.room(), 21U);
  for (int i = 0; i < 80; ++i) pace.ended(1ms);
  EXPECT_GE(pace.room(), 10'000U);
}

// An endpoint that never answers one call in a hundred must not look slow for ever.
TEST(Pace, ForgetsASingleCallThatHung) {
  Pace pace(16);
  for (int i = 0; i < 50; ++i) pace.ended(100ms);
  pace.ended(20s);
  for (int i = 0; i < 30; ++i) pace.ended(100ms);
  EXPECT_GE(pace.room(), 160U);
}

TEST(Pace, SurvivesClocksThatStandStill) {
  Pace pace(500);
  pace.ended(0s);
  EXPECT_EQ(pace.room(), 1'000'000U);
}

}  // namespace
}  // namespace pillarbox::sink
