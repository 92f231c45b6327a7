// SPDX-License-Identifier: Apache-2.0
// Slow sinks: what was not sent, what is still in flight, and how much is claimed for them.
#include "core/worker_rules.h"

namespace pillarbox::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- what was not sent

// The batch's time was over: nothing happened to what is left of it, and it says nothing of the
// sink.
TEST_F(WorkerRules, GivesBackAtOnceAndUntouchedWhatWasNotSent) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::delivered(), Outcome::not_sent("no time")});
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].kind, SettleKind::release);
  EXPECT_EQ(all[1].delay, 0ms);
  EXPECT_EQ(all[1].code, "") << "its history has no attempt to tell of";
  EXPECT_EQ(all[1].error, "");
  EXPECT_EQ(count(NoteKind::released), 1U);
  EXPECT_EQ(text(NoteKind::released), "not_sent");
}

TEST_F(WorkerRules, GivesBackWhatWasNotSentForAsLongAsTheAnswerThatStoppedItSays) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::throttled("http_429", "slow down", 30s), Outcome::not_sent("in vain")});
  EXPECT_GE(settle().at(1).delay, 30s);
  EXPECT_EQ(settle().at(1).code, "");
}

// Calls that were cut short by a brake or a drain, whatever their number, are no sign of an outage.
TEST_F(WorkerRules, TakesNothingSentForNoSignOfAnOutage) {
  start();
  for (int i = 0; i < 20; ++i) {
    claimed({message(1), message(2)});
    delivered({Outcome::not_sent("no time"), Outcome::not_sent("no time")});
    settled();
  }
  EXPECT_EQ(count(NoteKind::breaker_opened), 0U);
}

// Beside what was not sent the others still tell whether the sink is there.
TEST_F(WorkerRules, HearsOfAnOutageFromThoseThatWereSent) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::unavailable("curl_7", "nobody there"), Outcome::not_sent("in vain")});
  EXPECT_EQ(count(NoteKind::breaker_opened), 1U);
  EXPECT_GT(settle().at(1).delay, 0ms);
}

TEST_F(WorkerRules, ProbesAgainWhenTheProbeWasNotSent) {
  start();
  run_through({message(1)}, Outcome::unavailable("curl_7", "nobody there"));
  settled();
  now_ += 2min;
  claimed({message(1)});
  delivered({Outcome::not_sent("asked to stop")});
  settled();
  claimed({message(1), message(2)});
  EXPECT_THAT(ids(), ElementsAre(1)) << "one message is the probe";
}

// ---- calls that are left in flight

// One slow answer must not keep the others waiting: the worker settles what it knows and claims on.
TEST_F(WorkerRules, ClaimsOnWhileCallsAreInFlightAndKeepsTheirLeases) {
  start();
  claimed({message(1), message(2)});
  EXPECT_LT(delivery().leave_after, delivery().start_before);
  delivered({Outcome::delivered(), Outcome::in_flight()});
  EXPECT_EQ(only_settlement().lease.id, RowId{1});
  settled();
  EXPECT_TRUE(wants<DoClaim>());
  EXPECT_THAT(leases(), ElementsAre(2));
  claimed({message(3)});
  EXPECT_THAT(leases(), ElementsAre(2, 3));
  answer(Delivered{.outcomes = {Outcome::delivered()},
                   .began = now_,
                   .late = {{Lease{RowId{2}, 1}, Outcome::delivered()}}});
  EXPECT_THAT(settle(), SizeIs(2));
  settled();
  EXPECT_THAT(leases(), IsEmpty());
}

// It was left in flight, and had ended before the delivery came back.
TEST_F(WorkerRules, HearsOfACallThatEndedWhileItsOwnDeliveryCameBack) {
  start();
  claimed({message(1)});
  answer(Delivered{.outcomes = {Outcome::in_flight()},
                   .began = now_,
                   .late = {{Lease{RowId{1}, 1}, Outcome::delivered()}}});
  EXPECT_EQ(only_settlement().kind, SettleKind::dispatched);
}

TEST_F(WorkerRules, WaitsForACallToEndWhenTheSinkHasNoRoom) {
  start();
  claimed({message(1)});
  answer(Delivered{.outcomes = {Outcome::in_flight()}, .began = now_, .room = 0});
  ASSERT_TRUE(wants<DoCollect>());
  EXPECT_FALSE(std::get<DoCollect>(action_).idle);
  EXPECT_THAT(std::get<DoCollect>(action_).routes, ElementsAre(kMail));
  answer(Collected{
      .news = {{.route = kMail, .late = {{Lease{RowId{1}, 1}, Outcome::delivered()}}, .room = 3}}});
  EXPECT_EQ(only_settlement().kind, SettleKind::dispatched);
  settled();
  EXPECT_EQ(claim().count_max, 3U);
}

TEST_F(WorkerRules, WaitsForBothWhenItIsIdleWithCallsInFlight) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::in_flight(), Outcome::in_flight()});
  claimed({});
  ASSERT_TRUE(wants<DoCollect>());
  EXPECT_TRUE(std::get<DoCollect>(action_).idle);
  const Instant until = std::get<DoCollect>(action_).until;
  now_ += 300ms;
  answer(
      Collected{.news = {{.route = kMail, .late = {{Lease{RowId{1}, 1}, Outcome::delivered()}}}}});
  settled();
  ASSERT_TRUE(wants<DoCollect>()) << "nothing new is due";
  EXPECT_EQ(std::get<DoCollect>(action_).until, until) << "the poll is not put off";
  answer(Collected{.news = {{.route = kMail}}, .woken = true});
  EXPECT_TRUE(wants<DoClaim>());
  EXPECT_FALSE(claim().sweep);
  claimed({});
  now_ = std::get<DoCollect>(action_).until;
  answer(Collected{.news = {{.route = kMail}}});
  EXPECT_TRUE(claim().sweep) << "the timer ended the wait";
}

TEST_F(WorkerRules, SendsASuspectWhenNothingElseIsInFlight) {
  start();
  auto suspect = message(2);
  suspect.reclaimed = true;
  claimed({message(1), suspect});
  delivered({Outcome::in_flight()});
  ASSERT_TRUE(wants<DoCollect>());
  answer(
      Collected{.news = {{.route = kMail, .late = {{Lease{RowId{1}, 1}, Outcome::delivered()}}}}});
  EXPECT_THAT(settle(), SizeIs(1)) << "before a message that may take us down";
  settled();
  EXPECT_THAT(ids(), ElementsAre(2));
  EXPECT_EQ(delivery().leave_after, Instant::max());
}

TEST_F(WorkerRules, GivesCallsInFlightTheTimeOfTheDrainAndNoMore) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::in_flight(), Outcome::in_flight()});
  worker_.drain_by(now_ + 10s);
  claimed({});
  ASSERT_TRUE(wants<DoCollect>());
  EXPECT_EQ(std::get<DoCollect>(action_).until, now_ + 10s);
  answer(
      Collected{.news = {{.route = kMail, .late = {{Lease{RowId{1}, 1}, Outcome::delivered()}}}}});
  EXPECT_EQ(only_settlement().kind, SettleKind::dispatched);
  settled();
  now_ += 10s;
  answer(Collected{.news = {{.route = kMail}}});
  EXPECT_EQ(only_settlement().kind, SettleKind::retry) << "perhaps it was taken";
  EXPECT_EQ(only_settlement().code, "shutdown");
  settled();
  EXPECT_TRUE(wants<DoExit>());
}

// A sink with a defect: its message must not be kept for as long as the relay lives.
TEST_F(WorkerRules, GivesUpACallThatItsSinkNeverTellsOf) {
  start();
  claimed({message(1)});
  answer(Delivered{.outcomes = {Outcome::in_flight()}, .began = now_, .room = 0});
  ASSERT_TRUE(wants<DoCollect>());
  EXPECT_LT(std::get<DoCollect>(action_).until, now_ + 2min);
  now_ = std::get<DoCollect>(action_).until;
  answer(Collected{.news = {{.route = kMail, .room = 0}}});
  EXPECT_EQ(only_settlement().kind, SettleKind::retry);
  EXPECT_EQ(only_settlement().code, "no_answer");
}

TEST_F(WorkerRules, TriesAgainWhatWasInFlightOnAHandleThatIsLost) {
  start();
  claimed({message(1), message(2)});
  delivered({Outcome::in_flight(), Outcome::in_flight()});
  claimed({message(3)});
  answer(Delivered{.outcomes = {Outcome::transient("sink_defect", "it threw")},
                   .began = now_,
                   .handle_lost = true});
  EXPECT_THAT(settle(), SizeIs(3));
  for (const Settlement& one : settle()) EXPECT_EQ(one.code, "sink_defect");
}

// Both workers have calls in flight, as many deliveries as the route may have: they go on.
TEST_F(WorkerRules, IsNotKeptFromARouteThatItFillsItself) {
  start();
  claimed({message(1)});
  ASSERT_EQ(board_.begin(kMail, now_).kind, RouteBoard::Permit::Kind::go) << "the other worker";
  delivered({Outcome::in_flight()});
  EXPECT_THAT(claim().excluded_types, IsEmpty());
  claimed({message(2)});
  EXPECT_THAT(ids(), ElementsAre(2));
}

// A few calls that hang, between others that are answered, are no outage.
TEST_F(WorkerRules, TakesHungCallsAmongAnsweredOnesForNoSignOfAnOutage) {
  start();
  for (std::int64_t id = 1; id <= 10; ++id) {
    claimed({message(id)});
    delivered({Outcome::in_flight()});
  }
  now_ += 1s;
  claimed({message(11)});
  delivered_all();
  settled();
  for (std::int64_t id = 1; id <= 10; ++id) {
    claimed({});
    now_ += 1ms;
    answer(Collected{
        .news = {{.route = kMail,
                  .late = {{Lease{RowId{id}, 1}, Outcome::transient("timeout", "no answer")}}}},
        .woken = true});
    settled();
  }
  EXPECT_EQ(count(NoteKind::breaker_opened), 0U);
}

// ---- as much as can be sent in time

TEST_F(WorkerRules, ClaimsNoMoreThanTheSinkHasRoomFor) {
  start();
  claimed({message(1), message(2)});
  Delivered event{
      .outcomes = {Outcome::delivered(), Outcome::delivered()}, .began = now_, .room = 7};
  answer(std::move(event));
  settled();
  EXPECT_EQ(claim().count_max, 7U);
}

TEST_F(WorkerRules, LeavesRoomForTheOtherRoutesAsTheyWereMixed) {
  start();
  claimed({message(1), message(2, "pair.v1"), message(3), message(4)});
  answer(Delivered{.outcomes = std::vector<Outcome>(ids().size(), Outcome::delivered()),
                   .began = now_,
                   .room = 6});
  answer(Delivered{.outcomes = std::vector<Outcome>(ids().size(), Outcome::delivered()),
                   .began = now_});
  settled();
  EXPECT_EQ(claim().count_max, 8U) << "three of four go where there is room for six";
}

TEST_F(WorkerRules, ClaimsAtLeastOneAndAgainAWholeBatchWhenThereIsRoom) {
  start();
  claimed({message(1)});
  answer(Delivered{.outcomes = {Outcome::delivered()}, .began = now_, .room = 0});
  settled();
  EXPECT_EQ(claim().count_max, 1U);
  claimed({message(2)});
  answer(Delivered{.outcomes = {Outcome::delivered()}, .began = now_, .room = 100'000});
  settled();
  EXPECT_EQ(claim().count_max, WorkerPolicy{}.batch_size);
}

// Somebody else has the message of a call that hangs: what is claimed since is sent all the same.
TEST_F(WorkerRules, SendsNewOnesThoughTheLeaseOfACallInFlightIsOver) {
  start();
  claimed({message(1)});
  delivered({Outcome::in_flight()});
  EXPECT_EQ(worker_.lease_until(), now_ + 60s);
  now_ += 58s;
  claimed({message(2)});
  EXPECT_EQ(worker_.lease_until(), now_ + 2s) << "the keeper must hear of the first to run out";
  EXPECT_TRUE(wants<DoDeliver>());
  worker_.renewed(now_ + 60s);
  EXPECT_EQ(worker_.lease_until(), now_ + 60s);
}

}  // namespace
}  // namespace pillarbox::core
