// SPDX-License-Identifier: Apache-2.0
#include "sink/pace.h"

#include <gtest/gtest.h>

#include "pillarbox/sink.h"

namespace pillarbox::sink {
namespace {

using namespace std::chrono_literals;

TEST(Pace, SetsNoBoundWhileNothingIsKnown) { EXPECT_EQ(Pace(4).room(0), Sink::kNoBound); }

TEST(Pace, FillsOnlyFreeCallsWhileNoneHasEnded) { EXPECT_EQ(Pace(4).room(3), 1U); }

TEST(Pace, LeavesRoomForFreeCallsAndForWhatCanStartSoon) {
  Pace pace(4);
  pace.ended(200ms);
  EXPECT_EQ(pace.room(0), 4U + 12U);
  EXPECT_EQ(pace.room(3), 1U + 12U);
}

TEST(Pace, LeavesNoRoomWhenNoCallIsFree) {
  Pace pace(4);
  pace.ended(1ms);
  EXPECT_EQ(pace.room(4), 0U);
  EXPECT_EQ(pace.room(5), 0U);
}

TEST(Pace, LeavesRoomForEachFreeCallHoweverSlowTheyAre) {
  Pace pace(4);
  pace.ended(1h);
  EXPECT_EQ(pace.room(0), 4U);
}

TEST(Pace, FollowsAnEndpointThatTurnsSlowAndOneThatRecovers) {
  Pace pace(10);
  pace.ended(1ms);
  EXPECT_EQ(pace.room(0), 8'000U);
  for (int i = 0; i < 40; ++i) pace.ended(1s);
  EXPECT_EQ(pace.room(0), 10U);
  for (int i = 0; i < 80; ++i) pace.ended(1ms);
  EXPECT_GE(pace.room(0), 4'000U);
}

// An endpoint that never answers one call in a hundred must not look slow for ever.
TEST(Pace, ForgetsASingleCallThatHung) {
  Pace pace(16);
  for (int i = 0; i < 50; ++i) pace.ended(100ms);
  pace.ended(20s);
  for (int i = 0; i < 30; ++i) pace.ended(100ms);
  EXPECT_GE(pace.room(0), 64U);
}

TEST(Pace, SurvivesClocksThatStandStill) {
  Pace pace(500);
  pace.ended(0s);
  EXPECT_EQ(pace.room(0), 1'000'500U);
}

}  // namespace
}  // namespace pillarbox::sink
