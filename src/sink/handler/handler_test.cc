// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "pillarbox/error.h"
#include "sink/handler/factory.h"

namespace pillarbox {
namespace {

using std::chrono::steady_clock;

std::vector<ClaimedMessage> three_messages() {
  std::vector<ClaimedMessage> batch(3);
  batch[0].job_type = "a.v1";
  batch[1].job_type = "b.v1";
  batch[2].job_type = "c.v1";
  return batch;
}

TEST(HandlerSink, CallsTheHandlerInTheBatchsOrder) {
  std::vector<std::string> seen;
  const auto sink = handler_sink::make([&](const ClaimedMessage& message) {
    seen.push_back(message.job_type);
    return Outcome::delivered();
  });
  std::vector<Outcome> outcomes(3);
  sink->deliver(three_messages(), {}, outcomes);
  EXPECT_THAT(seen, testing::ElementsAre("a.v1", "b.v1", "c.v1"));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::delivered);
}

TEST(HandlerSink, AThrowingHandlerMakesItsOwnMessageTransientAndNoOther) {
  const auto sink = handler_sink::make([&](const ClaimedMessage& message) {
    if (message.job_type == "b.v1") throw std::runtime_error("mail server away");
    return Outcome::delivered();
  });
  std::vector<Outcome> outcomes(3);
  sink->deliver(three_messages(), {}, outcomes);
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::delivered);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::transient);
  EXPECT_EQ(outcomes[1].code, "handler_threw");
  EXPECT_THAT(outcomes[1].error, testing::HasSubstr("mail server away"));
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::delivered);
}

TEST(HandlerSink, SurvivesAHandlerThatThrowsAnInt) {
  const auto sink = handler_sink::make([](const ClaimedMessage&) -> Outcome { throw 7; });
  std::vector<Outcome> outcomes(3);
  sink->deliver(three_messages(), {}, outcomes);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, "handler_threw");
}

// A slow handler and a long batch: those whose turn does not come must not die of waiting.
TEST(HandlerSink, DoesNotCallTheHandlerWhenTheBatchsTimeIsOver) {
  int calls = 0;
  const auto sink = handler_sink::make([&](const ClaimedMessage&) {
    ++calls;
    return Outcome::delivered();
  });
  std::vector<Outcome> outcomes(3);
  sink->deliver(three_messages(), {.start_before = steady_clock::now() - std::chrono::seconds(1)},
                outcomes);
  EXPECT_EQ(calls, 0);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.kind, OutcomeKind::not_sent);
  }
}

TEST(HandlerSink, RefusesAnEmptyHandler) { EXPECT_THROW((void)handler_sink::make({}), Error); }

}  // namespace
}  // namespace pillarbox
