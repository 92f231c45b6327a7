// SPDX-License-Identifier: Apache-2.0
// What is true of every sink, told by the messages that its other end really has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/conformance/sink_params.h"

namespace pillarbox::testing {
namespace {

using std::chrono::steady_clock;

constexpr Millis kLong = std::chrono::minutes(2);  // never reached, unless something hangs

MessageId id_of(int n) {
  std::array<std::uint8_t, 16> bytes{0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80};
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  return MessageId(bytes);
}

ClaimedMessage message(int n, std::string payload, std::string content_type = "application/json") {
  ClaimedMessage m;
  m.lease = {.id = RowId{n}, .claim_no = 1};
  m.message_id = id_of(n);
  m.job_type = "test.v1";
  m.payload = std::move(payload);
  m.content_type = std::move(content_type);
  m.attempts = 1;
  return m;
}

std::vector<ClaimedMessage> messages(int first, int count) {
  std::vector<ClaimedMessage> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int n = first; n < first + count; ++n) {
    out.push_back(message(n, "{\"n\":" + std::to_string(n) + "}"));
  }
  return out;
}

std::vector<std::string> ids_of(const std::vector<ClaimedMessage>& batch) {
  std::vector<std::string> out;
  for (const ClaimedMessage& m : batch) out.push_back(m.message_id.to_string());
  return out;
}

std::vector<Outcome> deliver(Sink& sink, const std::vector<ClaimedMessage>& batch,
                             const DeliveryLimits& limits) {
  std::vector<Outcome> outcomes(batch.size());
  sink.deliver(batch, limits, outcomes);
  return outcomes;
}
std::vector<Outcome> deliver(Sink& sink, const std::vector<ClaimedMessage>& batch,
                             Millis timeout = kLong) {
  return deliver(sink, batch, DeliveryLimits{.timeout = timeout});
}

MATCHER(IsDelivered, "") {
  if (arg.kind != OutcomeKind::delivered) {
    *result_listener << to_string(arg.kind) << " " << arg.code << ": " << arg.error;
  }
  return arg.kind == OutcomeKind::delivered;
}
MATCHER(MayWorkLater, "") {
  *result_listener << to_string(arg.kind) << " " << arg.code << ": " << arg.error;
  return arg.kind == OutcomeKind::transient || arg.kind == OutcomeKind::unavailable ||
         arg.kind == OutcomeKind::throttled || arg.kind == OutcomeKind::not_sent;
}
MATCHER(IsNotSent, "") {
  *result_listener << to_string(arg.kind) << " " << arg.code << ": " << arg.error;
  return arg.kind == OutcomeKind::not_sent;
}

class SinkSuite : public ::testing::TestWithParam<SinkParam> {
 protected:
  SinkSuite() : fixture_(GetParam().make()), sink_(fixture_->connect()) {}

  std::vector<ReceivedMessage> received() { return fixture_->received().value(); }
  std::vector<std::string> received_ids() {
    std::vector<std::string> out;
    for (const ReceivedMessage& m : received()) out.push_back(m.message_id);
    return out;
  }
  bool keeps_messages() { return fixture_->received().has_value(); }

  std::unique_ptr<SinkFixture> fixture_;
  std::unique_ptr<Sink> sink_;
};

class SinkOutcomes : public SinkSuite {};
class SinkPayload : public SinkSuite {};
class SinkIdentity : public SinkSuite {};
class SinkOutage : public SinkSuite {};
class SinkRefusal : public SinkSuite {};
class SinkTime : public SinkSuite {
 protected:
  // More than its calls can have on their way at once, so that some must wait for their turn.
  std::vector<ClaimedMessage> more_than_fit(int first = 1) {
    return messages(first, static_cast<int>(fixture_->calls_at_once().value_or(1)) * 16);
  }
};
class SinkHandles : public SinkSuite {};

#define SKIP_UNLESS(condition, why) \
  if (!(condition)) GTEST_SKIP() << GetParam().name << ": " << (why)

TEST_P(SinkOutcomes, AnEmptyBatchIsNothing) {
  EXPECT_TRUE(deliver(*sink_, {}).empty());
  if (keeps_messages()) {
    EXPECT_TRUE(received().empty());
  }
}

TEST_P(SinkOutcomes, DeliversAWholeBatchAndAsManyMore) {
  const auto first = messages(1, 100);
  const auto second = messages(101, 100);
  EXPECT_THAT(deliver(*sink_, first), ::testing::Each(IsDelivered()));
  EXPECT_THAT(deliver(*sink_, second), ::testing::Each(IsDelivered()));
  SKIP_UNLESS(keeps_messages(), "keeps nothing that could be read back");
  auto expected = ids_of(first);
  for (const std::string& id : ids_of(second)) expected.push_back(id);
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(expected));
}

TEST_P(SinkOutcomes, ADeliveredOutcomeCarriesNoError) {
  for (const Outcome& outcome : deliver(*sink_, messages(1, 3))) {
    EXPECT_EQ(outcome.code, "");
    EXPECT_EQ(outcome.error, "");
    EXPECT_FALSE(outcome.stops_route);
  }
}

TEST_P(SinkOutcomes, ArriveInTheBatchsOrderWhereThatIsPromised) {
  SKIP_UNLESS(fixture_->capabilities().keeps_order, "promises no order within a batch");
  const auto batch = messages(1, 50);
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  EXPECT_EQ(received_ids(), ids_of(batch));
}

TEST_P(SinkPayload, ArrivesByteForByte) {
  SKIP_UNLESS(keeps_messages(), "keeps nothing that could be read back");
  std::string all_bytes;
  for (int c = 0; c < 256; ++c) all_bytes += static_cast<char>(c);
  std::string big = "[\"";
  while (big.size() < std::size_t{1024} * 1024) big += "0123456789abcdef";
  big += "\"]";
  std::string big_bytes;
  while (big_bytes.size() < std::size_t{1024} * 1024) big_bytes += all_bytes;
  const std::vector<std::pair<std::string, std::string>> payloads = {
      {"null", "application/json"},
      {"{ \"a\" :\t1 ,\"b\":[ ] }", "application/json"},
      {" \n{\"a\":\r\n1}\n ", "application/json"},
      {"{\"a\":1e400,\"b\":-0.0,\"c\":1E+2}", "application/json"},
      {"9007199254740993", "application/json"},
      {"123456789012345678901234567890123456789012345678901234567890", "application/json"},
      {"{\"a\":1,\"a\":2}", "application/json"},
      {"\"\\u0000\\ud83d\\ude00\\/\"", "application/json"},
      {"\"\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x80\xA8\"", "application/json"},
      {"{\"a\":\"}],{\\\"\"}", "application/vnd.shop+json"},
      {big, "application/json"},
      {"", "application/octet-stream"},
      {std::string(1, '\0'), "application/octet-stream"},
      {all_bytes, "application/octet-stream"},
      {big_bytes, "application/octet-stream"},
      {"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "application/octet-stream"},
  };
  std::vector<ClaimedMessage> batch;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    batch.push_back(message(static_cast<int>(i), payloads[i].first, payloads[i].second));
  }
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  const auto arrived = received();
  ASSERT_EQ(arrived.size(), batch.size());
  for (const ClaimedMessage& sent : batch) {
    const auto found = std::find_if(arrived.begin(), arrived.end(), [&](const auto& r) {
      return r.message_id == sent.message_id.to_string();
    });
    ASSERT_NE(found, arrived.end());
    EXPECT_TRUE(found->payload == sent.payload) << sent.payload.substr(0, 80) << "\n arrived as\n"
                                                << found->payload.substr(0, 80);
  }
}

// Rows edited by hand can claim to be what they are not. They must not harm anybody else's.
TEST_P(SinkPayload, OneThatIsNotWhatItClaimsHarmsNoOther) {
  const std::vector<ClaimedMessage> batch = {message(1, "{\"n\":1}"), message(2, "{\"broken"),
                                             message(3, "1},\"id\":\"x\",{"),
                                             message(4, "\xFF\xFE"), message(5, "{\"n\":5}")};
  const auto outcomes = deliver(*sink_, batch);
  EXPECT_THAT(outcomes[0], IsDelivered());
  EXPECT_THAT(outcomes[4], IsDelivered());
  SKIP_UNLESS(keeps_messages(), "keeps nothing that could be read back");
  for (const ReceivedMessage& r : received()) {
    EXPECT_THAT(ids_of(batch), ::testing::Contains(r.message_id));
    EXPECT_EQ(r.job_type, "test.v1");
  }
}

TEST_P(SinkIdentity, TheMessageIdTravelsAndIsTheSameOnEachTry) {
  SKIP_UNLESS(fixture_->capabilities().message_id_travels, "carries no message_id");
  auto batch = messages(1, 1);
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  batch[0].attempts = 2;
  batch[0].lease.claim_no = 2;
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  const std::string id = batch[0].message_id.to_string();
  EXPECT_THAT(received_ids(), ::testing::ElementsAre(id, id));
}

// Names and values of headers, keys and types are a producer's, and may be hostile.
TEST_P(SinkIdentity, HostileTextNeverBecomesMoreThanText) {
  SKIP_UNLESS(keeps_messages(), "keeps nothing that could be read back");
  auto batch = messages(1, 3);
  batch[1].job_type = "evil\"},{\"id\":\"forged\r\nwebhook-id: forged\r\n\r\n\xE2\x82\xAC%41";
  batch[1].correlation_id = "c\r\nce-id: forged";
  batch[1].ordering_key = "k\"\n";
  batch[1].headers = {{"content-length", "0"},
                      {"transfer-encoding", "chunked"},
                      {"pillarbox-message-id", "forged"},
                      {"webhook-id", "forged"},
                      {"ce-id", "forged"},
                      {"id", "forged"},
                      {"x\r\nwebhook-id: forged\r\n", "1"},
                      {"tenant", "a\r\nce-id: forged\r\n\r\nPOST /forged HTTP/1.1\r\n\r\n"},
                      {"", "nameless"},
                      {"unicode", "\xE2\x82\xAC\xF0\x9F\x98\x80"},
                      {"quote\"brace}", "\"}"}};
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(ids_of(batch)));
  for (const ReceivedMessage& r : received()) {
    if (r.message_id == batch[1].message_id.to_string()) {
      EXPECT_EQ(r.job_type, batch[1].job_type);
      EXPECT_EQ(r.payload, batch[1].payload);
    } else {
      EXPECT_EQ(r.job_type, "test.v1");
    }
  }
}

TEST_P(SinkOutage, AStoppedOtherEndIsNeverTakenForDelivered) {
  SKIP_UNLESS(fixture_->stop(), "cannot be stopped");
  EXPECT_THAT(deliver(*sink_, messages(1, 20)), ::testing::Each(MayWorkLater()));
  fixture_->start();
  EXPECT_TRUE(received().empty());
}

TEST_P(SinkOutage, SaysThatItIsUnavailableSoThatNoAttemptIsSpent) {
  SKIP_UNLESS(fixture_->stop(), "cannot be stopped");
  std::size_t unavailable = 0;
  for (const Outcome& outcome : deliver(*sink_, messages(1, 20))) {
    if (outcome.kind == OutcomeKind::unavailable) ++unavailable;
    if (outcome.kind != OutcomeKind::unavailable) {
      EXPECT_THAT(outcome, IsNotSent());
    }
    EXPECT_FALSE(outcome.code.empty());
    EXPECT_FALSE(outcome.error.empty());
  }
  EXPECT_GE(unavailable, 1U) << "the breaker hears of it from these";
}

// The same handle must come back by itself, each time, with all that waited.
TEST_P(SinkOutage, RecoversFromEveryRestart) {
  const auto warm = messages(1000, 5);
  EXPECT_THAT(deliver(*sink_, warm), ::testing::Each(IsDelivered()));
  auto expected = ids_of(warm);
  for (int round = 0; round < 5; ++round) {
    SKIP_UNLESS(fixture_->stop(), "cannot be stopped");
    const auto batch = messages(round * 20, 20);
    EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(MayWorkLater()));
    fixture_->start();
    EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered())) << "round " << round;
    for (const std::string& id : ids_of(batch)) expected.push_back(id);
  }
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(expected));
}

// Stopped and started between two batches: connections that were kept open are dead.
TEST_P(SinkOutage, ARestartBetweenTwoBatchesLosesNothing) {
  const auto before = messages(1, 20);
  EXPECT_THAT(deliver(*sink_, before), ::testing::Each(IsDelivered()));
  SKIP_UNLESS(fixture_->stop(), "cannot be stopped");
  fixture_->start();
  const auto after = messages(21, 20);
  const auto outcomes = deliver(*sink_, after);
  const auto arrived = received_ids();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (outcomes[i].kind != OutcomeKind::delivered) continue;
    EXPECT_THAT(arrived, ::testing::Contains(after[i].message_id.to_string()));
  }
}

// The other end took the messages and its answers are lost: nobody may say "delivered", and the
// call comes back though no answer ever does.
TEST_P(SinkOutage, WithoutAnAcknowledgementNothingIsDelivered) {
  SKIP_UNLESS(fixture_->swallow_answers(true), "its acknowledgement cannot be lost");
  const auto batch = messages(1, 3);
  EXPECT_THAT(deliver(*sink_, batch, Millis{300}), ::testing::Each(MayWorkLater()));
  fixture_->swallow_answers(false);
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  for (const std::string& id : ids_of(batch)) {
    EXPECT_THAT(received_ids(), ::testing::Contains(id));
  }
}

TEST_P(SinkRefusal, WhatWasRefusedForNowIsTakenLater) {
  SKIP_UNLESS(fixture_->refuse_next(1), "refuses no message by itself");
  const auto batch = messages(1, 1);
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(MayWorkLater()));
  EXPECT_TRUE(received().empty());
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
  EXPECT_EQ(received_ids(), ids_of(batch));
}

TEST_P(SinkRefusal, DeliveredIsSaidOfExactlyThoseThatAreThere) {
  SKIP_UNLESS(fixture_->refuse_next(3), "refuses no message by itself");
  const auto batch = messages(1, 40);
  const auto outcomes = deliver(*sink_, batch);
  std::vector<std::string> delivered;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (outcomes[i].kind == OutcomeKind::delivered) {
      delivered.push_back(batch[i].message_id.to_string());
    } else {
      EXPECT_THAT(outcomes[i], MayWorkLater());
    }
  }
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(delivered));
}

TEST_P(SinkRefusal, ABadMessageDoesNotTakeItsNeighboursAlong) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{5}, std::size_t{16}}) {
    const auto batch = messages(static_cast<int>(bad) * 100, 17);
    SKIP_UNLESS(fixture_->refuse_always(batch[bad].message_id), "refuses no message by itself");
    const auto outcomes = deliver(*sink_, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i == bad) {
        EXPECT_EQ(outcomes[i].kind, OutcomeKind::permanent);
        EXPECT_FALSE(outcomes[i].error.empty());
      } else {
        EXPECT_THAT(outcomes[i], IsDelivered()) << i;
      }
    }
    EXPECT_THAT(received_ids(),
                ::testing::Not(::testing::Contains(batch[bad].message_id.to_string())));
  }
}

TEST_P(SinkTime, NothingIsSentOnceTheBatchsTimeIsOver) {
  const auto batch = messages(1, 20);
  EXPECT_THAT(deliver(*sink_, batch, DeliveryLimits{.start_before = steady_clock::now()}),
              ::testing::Each(IsNotSent()));
  if (keeps_messages()) {
    EXPECT_TRUE(received().empty());
  }
  EXPECT_THAT(deliver(*sink_, batch), ::testing::Each(IsDelivered()));
}

TEST_P(SinkTime, NothingIsSentOnceAStopWasAskedFor) {
  std::stop_source stop;
  stop.request_stop();
  const auto batch = messages(1, 20);
  EXPECT_THAT(deliver(*sink_, batch, DeliveryLimits{.stop = stop.get_token()}),
              ::testing::Each(IsNotSent()));
  if (keeps_messages()) {
    EXPECT_TRUE(received().empty());
  }
}

// A slow other end: calls on their way when the batch's time is over are not cut off. What the
// other end has is delivered, each once, and of the others nothing was sent.
TEST_P(SinkTime, CallsOnTheirWayFinishWhenNoMoreMayStart) {
  SKIP_UNLESS(fixture_->hold_answers(true), "its acknowledgement cannot be held back");
  const auto batch = more_than_fit();
  std::stop_source stop;
  std::vector<Outcome> outcomes;
  std::jthread delivering([&] {
    outcomes = deliver(*sink_, batch, DeliveryLimits{.timeout = kLong, .stop = stop.get_token()});
  });
  const auto limit = steady_clock::now() + kLong;
  while (received().empty() && steady_clock::now() < limit) std::this_thread::yield();
  stop.request_stop();
  fixture_->hold_answers(false);
  delivering.join();
  std::vector<std::string> delivered;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (outcomes[i].kind == OutcomeKind::delivered) {
      delivered.push_back(batch[i].message_id.to_string());
    } else {
      EXPECT_THAT(outcomes[i], IsNotSent()) << i;
    }
  }
  EXPECT_GE(delivered.size(), 1U);
  if (const auto calls = fixture_->calls_at_once()) {
    EXPECT_LE(delivered.size(), *calls);
  }
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(delivered));
}

// Sixteen calls one after another take longer than one may: the timeout is of each.
TEST_P(SinkTime, TheTimeoutIsOfOneCallAndNotOfTheBatch) {
  SKIP_UNLESS(fixture_->answer_after(Millis{150}), "it cannot be slowed down");
  const auto batch = more_than_fit();
  EXPECT_THAT(deliver(*sink_, batch, Millis{2'000}), ::testing::Each(IsDelivered()));
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(ids_of(batch)));
}

// What is left in flight is told later, each once; and the handle takes more meanwhile.
TEST_P(SinkTime, WhatIsLeftInFlightIsToldLater) {
  SKIP_UNLESS(fixture_->answer_after(Millis{150}), "it cannot be slowed down");
  const DeliveryLimits limits{.timeout = kLong, .leave_after = steady_clock::now()};
  std::vector<std::string> delivered;
  std::vector<Lease> left;
  std::vector<ClaimedMessage> all;
  for (int part = 0; part < 3; ++part) {
    const auto batch = messages(1 + part * 8, 8);
    all.insert(all.end(), batch.begin(), batch.end());
    const auto outcomes = deliver(*sink_, batch, limits);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (outcomes[i].kind == OutcomeKind::in_flight) {
        left.push_back(batch[i].lease);
      } else {
        EXPECT_THAT(outcomes[i], IsDelivered());
      }
    }
  }
  while (!left.empty()) {
    const auto late = sink_->collect(steady_clock::now() + kLong);
    ASSERT_FALSE(late.empty()) << left.size() << " were never told";
    for (const LateOutcome& one : late) {
      EXPECT_THAT(one.outcome, IsDelivered());
      const auto at = std::find(left.begin(), left.end(), one.lease);
      ASSERT_NE(at, left.end()) << "told twice, or never left";
      left.erase(at);
    }
  }
  EXPECT_TRUE(sink_->collect(steady_clock::now()).empty());
  EXPECT_THAT(received_ids(), ::testing::UnorderedElementsAreArray(ids_of(all)));
}

// The handle is looked at late: an answer that came in time is not called a time-out.
TEST_P(SinkTime, AnAnswerThatCameInTimeIsHeardHoweverLateItIsAskedFor) {
  SKIP_UNLESS(fixture_->calls_at_once().value_or(1) > 1, "leaves nothing in flight");
  SKIP_UNLESS(fixture_->answer_after(Millis{150}), "it cannot be slowed down");
  // By then it is on its way, and not answered.
  const DeliveryLimits limits{.timeout = Millis{1'000},
                              .leave_after = steady_clock::now() + Millis{50}};
  ASSERT_EQ(deliver(*sink_, messages(1000, 1), limits)[0].kind, OutcomeKind::in_flight);
  const auto other = fixture_->connect();  // takes longer than the timeout
  EXPECT_THAT(deliver(*other, more_than_fit()), ::testing::Each(IsDelivered()));
  const auto late = sink_->collect(steady_clock::now() + kLong);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_THAT(late[0].outcome, IsDelivered());
}

// A call that is left in flight keeps its own timeout, and a handle that goes abandons it.
TEST_P(SinkTime, WhatIsLeftInFlightEndsByItsTimeout) {
  SKIP_UNLESS(fixture_->calls_at_once().value_or(1) > 1, "leaves nothing in flight");
  SKIP_UNLESS(fixture_->swallow_answers(true), "its acknowledgement cannot be lost");
  const auto outcomes =
      deliver(*sink_, messages(1, 2), {.timeout = Millis{300}, .leave_after = steady_clock::now()});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::in_flight);
  std::size_t ended = 0;
  while (ended < 2) {
    const auto late = sink_->collect(steady_clock::now() + kLong);
    ASSERT_FALSE(late.empty());
    for (const LateOutcome& one : late) EXPECT_THAT(one.outcome, MayWorkLater());
    ended += late.size();
  }
  EXPECT_EQ(
      deliver(*sink_, messages(3, 1), {.timeout = kLong, .leave_after = steady_clock::now()})[0]
          .kind,
      OutcomeKind::in_flight);
  sink_.reset();
}

TEST_P(SinkTime, BoundsTheNextBatchByWhatItManaged) {
  EXPECT_EQ(sink_->room(), Sink::kNoBound) << "nothing is known yet";
  SKIP_UNLESS(fixture_->answer_after(Millis{150}), "it cannot be slowed down");
  const auto calls = fixture_->calls_at_once();
  EXPECT_THAT(deliver(*sink_, messages(1, 8)), ::testing::Each(IsDelivered()));
  if (!calls) {
    EXPECT_EQ(sink_->room(), Sink::kNoBound) << "a batch is one call, whatever its size";
    return;
  }
  EXPECT_GE(sink_->room(), *calls);
  EXPECT_LE(sink_->room(), *calls * 16);
}

// Each worker has a handle of its own, and all use the same other end.
TEST_P(SinkHandles, ManyAtOnceDeliverEverythingOnce) {
  constexpr int kHandles = 6;
  constexpr int kMessages = 60;
  std::vector<std::vector<Outcome>> outcomes(kHandles);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kHandles);
    for (int h = 0; h < kHandles; ++h) {
      threads.emplace_back([&, h] {
        const auto sink = fixture_->connect();
        for (int part = 0; part < 3; ++part) {
          const int first = h * kMessages + part * kMessages / 3;
          for (Outcome& o : deliver(*sink, messages(first, kMessages / 3))) {
            outcomes[static_cast<std::size_t>(h)].push_back(std::move(o));
          }
        }
      });
    }
  }
  for (const auto& of_one : outcomes) {
    EXPECT_EQ(of_one.size(), kMessages);
    EXPECT_THAT(of_one, ::testing::Each(IsDelivered()));
  }
  SKIP_UNLESS(keeps_messages(), "keeps nothing that could be read back");
  EXPECT_THAT(received_ids(),
              ::testing::UnorderedElementsAreArray(ids_of(messages(0, kHandles * kMessages))));
}

TEST_P(SinkHandles, OneThatGoesLeavesTheOthersAlone) {
  auto other = fixture_->connect();
  EXPECT_THAT(deliver(*other, messages(1, 3)), ::testing::Each(IsDelivered()));
  other.reset();
  EXPECT_THAT(deliver(*sink_, messages(4, 3)), ::testing::Each(IsDelivered()));
}

std::string name_of(const ::testing::TestParamInfo<SinkParam>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Sinks, SinkOutcomes, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkPayload, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkIdentity, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkOutage, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkRefusal, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkTime, ::testing::ValuesIn(all_sinks()), name_of);
INSTANTIATE_TEST_SUITE_P(Sinks, SinkHandles, ::testing::ValuesIn(all_sinks()), name_of);

}  // namespace

std::vector<SinkParam> all_sinks() {
  std::vector<SinkParam> out = local_sinks();
#ifdef PILLARBOX_WITH_HTTP
  for (SinkParam& param : http_sinks()) out.push_back(std::move(param));
#endif
  return out;
}

}  // namespace pillarbox::testing
