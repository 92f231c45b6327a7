// SPDX-License-Identifier: Apache-2.0
#include "core/worker_rules.h"

#include <initializer_list>

namespace pillarbox::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- claiming

TEST_F(WorkerRules, BeginsWithAClaimThatLooksEverywhere) {
  start();
  ASSERT_TRUE(wants<DoClaim>());
  EXPECT_EQ(claim().count_max, 500U);
  EXPECT_EQ(claim().bytes_max, 8U * 1024 * 1024);
  EXPECT_EQ(claim().lease, 60s);
  EXPECT_TRUE(claim().excluded_types.empty());
  EXPECT_TRUE(claim().sweep);
}

TEST_F(WorkerRules, WaitsWhenNothingIsDueAndSweepsWhenTheTimerEndsTheWait) {
  start();
  claimed({});
  ASSERT_TRUE(wants<DoWait>());
  EXPECT_TRUE(std::get<DoWait>(action_).idle);
  EXPECT_EQ(std::get<DoWait>(action_).until, now_ + 1s);
  now_ += 10ms;
  answer(Woken{.by_timer = false});
  EXPECT_FALSE(claim().sweep) << "woken by a commit: the new is at the front";
  claimed({});
  wait_out();
  EXPECT_TRUE(claim().sweep);
}

TEST_F(WorkerRules, AsksAgainAtOnceWhenAnEmptyClaimSaysThatThereIsMore) {
  start();
  claimed({}, true);
  EXPECT_TRUE(wants<DoClaim>());
}

TEST_F(WorkerRules, SweepsWhileBusyEachPollIntervalAndNoMoreThanATwentiethOfTheTime) {
  start();
  const Instant began = now_;
  now_ += 200ms;  // a slow sweep: the next is 4 s away
  answer(Claimed{.result = {.messages = {}, .more = true}, .began = began});
  EXPECT_FALSE(claim().sweep);
  now_ += 3'999ms;
  claimed({}, true);
  EXPECT_FALSE(claim().sweep);
  now_ += 1ms;
  claimed({}, true);
  EXPECT_TRUE(claim().sweep);
  claimed({}, true);  // a fast one: poll_interval is the distance
  EXPECT_FALSE(claim().sweep);
  now_ += 1s;
  claimed({}, true);
  EXPECT_TRUE(claim().sweep);
}

// A route that may run one call at a time is full and free again all the time: each of these must
// not make every claim a sweep.
TEST_F(WorkerRules, DoesNotSweepMoreOftenWhileBusyBecauseARouteWasFull) {
  start();
  claimed({}, true);
  board_.set_brakes({"all"});
  board_.set_brakes({});
  now_ += 10ms;
  claimed({}, true);
  EXPECT_FALSE(claim().sweep);
  now_ += 1s;
  claimed({}, true);
  EXPECT_TRUE(claim().sweep);
}

TEST_F(WorkerRules, SweepsAtOnceWhenItWasIdleAndABrakeIsLifted) {
  start();
  claimed({});
  board_.set_brakes({"all"});
  board_.set_brakes({});
  now_ += 10ms;
  answer(Woken{.by_timer = false});
  EXPECT_TRUE(claim().sweep);
}

TEST_F(WorkerRules, BacksOffWhenClaimsFail) {
  start();
  for (const Millis ceiling :
       {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10'000ms, 10'000ms}) {
    failed(ErrorKind::unreachable);
    ASSERT_TRUE(wants<DoWait>());
    EXPECT_FALSE(std::get<DoWait>(action_).idle) << "a wake-up must not end a back-off";
    EXPECT_GE(std::get<DoWait>(action_).until, now_ + 50ms);
    EXPECT_LE(std::get<DoWait>(action_).until, now_ + ceiling);
    wait_out();
    EXPECT_TRUE(claim().sweep) << "the failed one may have committed";
  }
  EXPECT_EQ(count(NoteKind::claim_failed), 9U);
  EXPECT_EQ(text(NoteKind::claim_failed), "why");
  claimed({}, true);
  failed(ErrorKind::conflict);
  EXPECT_LE(std::get<DoWait>(action_).until, now_ + 100ms) << "a success starts it anew";
}

TEST_F(WorkerRules, GoesOnWaitingWhenABackOffIsEndedEarly) {
  start();
  failed(ErrorKind::unreachable);
  const Instant until = std::get<DoWait>(action_).until;
  answer(Woken{.by_timer = false});
  ASSERT_TRUE(wants<DoWait>());
  EXPECT_EQ(std::get<DoWait>(action_).until, until);
}

// ---- triage

TEST_F(WorkerRules, BuriesWhatIsMalformedExpiredOrPoisonWithoutDelivery) {
  ClaimedMessage malformed = message(1);
  malformed.defect = "headers are not an object";
  ClaimedMessage expired = message(2);
  expired.expired = true;
  start();
  claimed({malformed, expired, message(3, "pair.v1", 3), message(4, "pair.v1", 2)});
  ASSERT_TRUE(wants<DoDeliver>());
  EXPECT_THAT(ids(), ElementsAre(4)) << "the last permitted attempt";
  delivered_all();
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].reason, DeadReason::malformed);
  EXPECT_EQ(all[0].error, "headers are not an object");
  EXPECT_EQ(all[0].key_policy, KeyPolicy::hold);
  EXPECT_EQ(all[1].reason, DeadReason::expired);
  EXPECT_EQ(all[1].code, "expired");
  EXPECT_EQ(all[2].reason, DeadReason::poison);
  EXPECT_EQ(all[2].key_policy, KeyPolicy::skip);
  EXPECT_EQ(all[3].kind, SettleKind::dispatched);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].kind, SettleKind::dead);
  EXPECT_EQ(count(NoteKind::died), 3U);
}

TEST_F(WorkerRules, ReleasesWhatNoRouteTakesAndLeavesItsTypeAlone) {
  start();
  claimed({message(1, "lost.v1")});
  const Settlement settlement = only_settlement();
  EXPECT_EQ(settlement.kind, SettleKind::release);
  EXPECT_EQ(settlement.code, "") << "no attempt to tell of";
  EXPECT_EQ(settlement.error, "no route takes this job_type");
  EXPECT_EQ(settlement.delay, 0ms) << "another relay may have the route";
  EXPECT_EQ(text(NoteKind::unroutable), "lost.v1");
  settled();
  EXPECT_THAT(claim().excluded_types, ElementsAre("lost.v1"));
}

TEST_F(WorkerRules, ReleasesForAWhileWhatNoRouteTakesAndCannotBeRemembered) {
  for (std::size_t i = 0; i < RouteBoard::kTypesMax; ++i)
    static_cast<void>(board_.route_of("t" + std::to_string(i)));
  start();
  claimed({message(1, "lost.v1")});
  EXPECT_EQ(only_settlement().delay, 60s) << "else it would be claimed again at once, for ever";
}

TEST_F(WorkerRules, BuriesTheUnroutableToo) {
  ClaimedMessage expired = message(1, "lost.v1");
  expired.expired = true;
  ClaimedMessage old = message(2, "lost.v1", 1'000);
  start();
  claimed({expired, old});
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].reason, DeadReason::expired);
  EXPECT_EQ(all[1].kind, SettleKind::release) << "attempts have no cap where no route says one";
}

TEST_F(WorkerRules, ReleasesWhatIsBrakedAndDeliversTheRest) {
  board_.set_brakes({"type:mail.b"});
  start();
  claimed(
      {message(1, "mail.a"), message(2, "mail.b"), message(3, "mail.c"), message(4, "pair.v1")});
  EXPECT_THAT(ids(), ElementsAre(1, 3));
  delivered_all();
  board_.set_brakes({"all"});  // not seen before the next delivery began: it runs
  EXPECT_THAT(ids(), ElementsAre(4));
  delivered_all();
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].lease.id, RowId{2});
  EXPECT_EQ(all[0].kind, SettleKind::release);
  EXPECT_EQ(all[0].code, "") << "no attempt to tell of";
  EXPECT_EQ(text(NoteKind::released), "brake");
}

// After pause has been seen no delivery starts, also not of what is claimed already.
TEST_F(WorkerRules, LooksAtTheBrakeBeforeEachDelivery) {
  start();
  claimed({message(1), message(2, "pair.v1")});
  EXPECT_THAT(ids(), ElementsAre(1));
  board_.set_brakes({"all"});
  delivered_all();
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].kind, SettleKind::dispatched);
  EXPECT_EQ(all[1].kind, SettleKind::release);
}

TEST_F(WorkerRules, ReleasesForTheRestOfTheBackOffWhatLeadsToARouteThatIsDown) {
  board_.silence(kMail, now_ + 40s);
  start();
  claimed({message(1)});
  const Settlement settlement = only_settlement();
  EXPECT_EQ(settlement.kind, SettleKind::release);
  EXPECT_GE(settlement.delay, 40s);
  EXPECT_LE(settlement.delay, 50s);
  EXPECT_EQ(text(NoteKind::released), "backed_off");
  settled();
  EXPECT_THAT(claim().excluded_types, ElementsAre("mail.v1"));
}

// ---- groups

TEST_F(WorkerRules, DeliversEachRoutesMessagesTogetherUpToItsBatch) {
  start();
  claimed({message(1), message(2, "pair.v1"), message(3), message(4, "pair.v1"),
           message(5, "pair.v1")});
  EXPECT_EQ(delivery().route, kPairs);
  EXPECT_THAT(ids(), ElementsAre(2, 4));
  EXPECT_EQ(delivery().timeout, 5s);
  delivered_all();
  EXPECT_EQ(delivery().route, kMail);
  EXPECT_THAT(ids(), ElementsAre(1, 3));
  EXPECT_EQ(delivery().timeout, 20s);
  delivered_all();
  EXPECT_THAT(ids(), ElementsAre(5));
  EXPECT_THAT(leases(), ElementsAre(1, 2, 3, 4, 5));
  delivered_all();
  EXPECT_THAT(settle(), SizeIs(5));
  EXPECT_EQ(count(NoteKind::dispatched), 5U);
  settled();
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_TRUE(wants<DoClaim>());
}

// One of them may have killed its last holder: it must take nobody with it, and what the others did
// is written before it has its turn.
TEST_F(WorkerRules, DeliversReclaimedOnesAloneAndAfterTheOthersAreSettled) {
  ClaimedMessage first = message(1);
  first.reclaimed = true;
  ClaimedMessage second = message(2);
  second.reclaimed = true;
  start();
  claimed({first, second, message(3), message(4)});
  EXPECT_EQ(count(NoteKind::reclaimed), 2U);
  EXPECT_THAT(ids(), ElementsAre(3, 4));
  delivered_all();
  EXPECT_THAT(settle(), SizeIs(2));
  settled();
  EXPECT_THAT(leases(), ElementsAre(1, 2));
  EXPECT_THAT(ids(), ElementsAre(1));
  delivered_all();
  EXPECT_THAT(ids(), ElementsAre(2)) << "suspects are not settled one by one";
  delivered_all();
  EXPECT_THAT(settle(), SizeIs(2));
}

TEST_F(WorkerRules, SettlesBetweenGroupsWhatIsOlderThanTwoHundredMilliseconds) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3, "pair.v1"),
           message(4, "pair.v1"), message(5, "pair.v1"), message(6, "pair.v1")});
  delivered({Outcome::delivered(), Outcome::delivered()}, 500ms);
  EXPECT_THAT(ids(), ElementsAre(3, 4)) << "just known, however long it took";
  delivered({Outcome::delivered(), Outcome::delivered()}, 199ms);
  EXPECT_THAT(ids(), ElementsAre(5, 6));
  delivered({Outcome::delivered(), Outcome::delivered()}, 1ms);
  EXPECT_THAT(settle(), SizeIs(6));
}

TEST_F(WorkerRules, GoesOnWithTheOtherGroupsAfterASettleBetweenThem) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3, "pair.v1"),
           message(4, "pair.v1"), message(5), message(6)});
  delivered_all();
  delivered({Outcome::delivered(), Outcome::delivered()}, 200ms);
  EXPECT_THAT(settle(), SizeIs(4));
  settled();
  EXPECT_THAT(leases(), ElementsAre(5, 6));
  EXPECT_THAT(ids(), ElementsAre(5, 6));
  delivered_all();
  EXPECT_THAT(settle(), SizeIs(2));
}

// What was released must not wait for a slow delivery of another route.
TEST_F(WorkerRules, CountsTheAgeOfReleasesToo) {
  start();
  claimed({message(1, "lost.v1"), message(2, "pair.v1"), message(3, "pair.v1"), message(4)});
  delivered({Outcome::delivered(), Outcome::delivered()}, 200ms);
  EXPECT_THAT(settle(), SizeIs(3));
}

// ---- leases

TEST_F(WorkerRules, SendsNothingWithoutMarginInTheLease) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3)});
  delivered({Outcome::delivered(), Outcome::delivered()}, 54s);
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2].lease.id, RowId{3});
  EXPECT_EQ(all[2].kind, SettleKind::release);
  EXPECT_EQ(text(NoteKind::released), "lease_too_short");
}

TEST_F(WorkerRules, CountsTheLeaseFromBeforeTheClaim) {
  start();
  const Instant began = now_;
  now_ += 54s;  // the claim's answer was slow
  answer(Claimed{.result = {.messages = {message(1)}}, .began = began});
  EXPECT_EQ(worker_.lease_until(), began + 60s);
  EXPECT_EQ(only_settlement().kind, SettleKind::release);
}

TEST_F(WorkerRules, SendsWhenTheKeeperLengthenedTheLease) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3)});
  worker_.renewed(now_ + 100s);
  delivered({Outcome::delivered(), Outcome::delivered()}, 58s);
  EXPECT_THAT(ids(), ElementsAre(3));
}

TEST_F(WorkerRules, TellsWhichLeasesSomebodyElseHad) {
  start();
  run_through({message(1), message(2)}, Outcome::delivered());
  settled({{RowId{2}, 1}});
  EXPECT_EQ(count(NoteKind::lease_lost), 1U);
  EXPECT_TRUE(wants<DoClaim>());
}

// ---- outcomes

TEST_F(WorkerRules, SettlesEachMessageByItsOwnOutcome) {
  start();
  claimed({message(1), message(2), message(3), message(4), message(5), message(6, "mail.v1", 20)});
  Outcome absorbed = Outcome::delivered();
  absorbed.duplicate_absorbed = true;
  delivered({absorbed, Outcome::transient("t", "later"), Outcome::permanent("p", "never"),
             Outcome::throttled("s", "slower", 30s), Outcome::unavailable("u", "down"),
             Outcome::transient("t", "the last time")},
            70ms);
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(6));
  EXPECT_EQ(all[0].kind, SettleKind::dispatched);
  EXPECT_EQ(all[1].kind, SettleKind::retry);
  EXPECT_EQ(all[2].kind, SettleKind::dead);
  EXPECT_EQ(all[2].reason, DeadReason::permanent);
  EXPECT_EQ(all[3].kind, SettleKind::release);
  EXPECT_GE(all[3].delay, 30s);
  EXPECT_LE(all[3].delay, 37'500ms);
  EXPECT_EQ(all[4].kind, SettleKind::release);
  EXPECT_GE(all[4].delay, 30s) << "its route is silent for that long";
  EXPECT_EQ(all[5].kind, SettleKind::dead);
  EXPECT_EQ(all[5].reason, DeadReason::attempts);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i].lease, (Lease{RowId{static_cast<std::int64_t>(i) + 1}, 1}));
    EXPECT_EQ(all[i].took, 70ms);
  }
  EXPECT_EQ(count(NoteKind::dispatched), 1U);
  EXPECT_EQ(count(NoteKind::duplicate_absorbed), 1U);
  EXPECT_EQ(count(NoteKind::retried), 1U);
  EXPECT_EQ(count(NoteKind::died), 2U);
  EXPECT_EQ(count(NoteKind::released), 2U);
}

TEST_F(WorkerRules, BacksTheRouteOffForAsLongAsAThrottlingSinkAsks) {
  start();
  run_through({message(1)}, Outcome::throttled("http_429", "slower", 5min));
  settled();
  EXPECT_EQ(board_.blocked_until(kMail), now_ + 5min);
  EXPECT_THAT(claim().excluded_types, ElementsAre("mail.v1"));
}

TEST_F(WorkerRules, StopsARouteForLongWhenTheSinkSaysSo) {
  Outcome gone = Outcome::permanent("http_410", "do not come back");
  gone.stops_route = true;
  start();
  run_through({message(1)}, gone);
  EXPECT_EQ(only_settlement().kind, SettleKind::dead);
  EXPECT_EQ(text(NoteKind::route_stopped), "do not come back");
  EXPECT_EQ(board_.blocked_until(kMail), now_ + 5min);
}

TEST_F(WorkerRules, DoesNotCallARouteWellThatAnswersItsProbeWithSilence) {
  board_.silence(kMail, now_ + 10s);
  start();
  now_ += 10s;
  run_through({message(1)}, Outcome::throttled("http_429", "slower", 1min));
  EXPECT_EQ(count(NoteKind::breaker_closed), 0U);
  EXPECT_EQ(board_.blocked_until(kMail), now_ + 1min);
}

// ---- the breaker

TEST_F(WorkerRules, OpensTheBreakerWhenTheSinkIsDownAndGivesTheAttemptsBack) {
  start();
  run_through({message(1), message(2, "mail.v1", 20)}, Outcome::unavailable("u", "nobody there"));
  EXPECT_EQ(text(NoteKind::breaker_opened), "nobody there");
  for (const Settlement& settlement : settle()) {
    EXPECT_EQ(settlement.kind, SettleKind::release);
    EXPECT_GE(settlement.delay, 2s);
    EXPECT_LE(settlement.delay, 2'500ms);
  }
  EXPECT_EQ(board_.breaker_state(kMail, now_), Breaker::State::open);
}

TEST_F(WorkerRules, OpensTheBreakerAfterFiveCallsThatWereAllTransient) {
  start();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(count(NoteKind::breaker_opened), 0U);
    claimed({message(i), message(i + 10)});
    delivered({Outcome::transient("t", "later"), Outcome::unavailable("u", "down")});
    settled();
  }
  EXPECT_EQ(count(NoteKind::breaker_opened), 1U);
}

TEST_F(WorkerRules, DoesNotOpenTheBreakerWhenTheSinkAnswersAboutSingleMessages) {
  start();
  for (int i = 1; i <= 10; ++i) {
    claimed({message(i), message(i + 10)});
    delivered({Outcome::transient("t", "later"), Outcome::permanent("p", "never")});
    settled();
  }
  EXPECT_EQ(count(NoteKind::breaker_opened), 0U);
}

TEST_F(WorkerRules, ProbesWithOneMessageAndGoesOnWithTheRestWhenItIsAnswered) {
  board_.silence(kMail, now_ + 10s);
  start();
  now_ += 10s;
  claimed({message(1), message(2), message(3)});
  EXPECT_THAT(ids(), ElementsAre(1));
  delivered_all();
  EXPECT_EQ(count(NoteKind::breaker_closed), 1U);
  EXPECT_THAT(ids(), ElementsAre(2, 3));
  delivered_all();
  EXPECT_THAT(settle(), SizeIs(3));
}

TEST_F(WorkerRules, ReleasesTheRestWhenTheProbeFails) {
  board_.silence(kMail, now_ + 10s);
  start();
  now_ += 10s;
  claimed({message(1), message(2), message(3)});
  EXPECT_THAT(ids(), ElementsAre(1));
  delivered({Outcome::transient("t", "later")});
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].kind, SettleKind::retry);
  EXPECT_EQ(all[1].kind, SettleKind::release);
  EXPECT_EQ(all[2].kind, SettleKind::release);
  EXPECT_GT(all[1].delay, 0ms);
  EXPECT_EQ(count(NoteKind::breaker_opened), 1U);
}

TEST_F(WorkerRules, GoesOnWithOtherRoutesWhenOneIsDown) {
  board_.silence(kPairs, now_ + 10s);
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3)});
  EXPECT_EQ(delivery().route, kMail);
  EXPECT_THAT(ids(), ElementsAre(3));
}

// ---- settling

TEST_F(WorkerRules, RepeatsTheSameSettleWhenTheStoreHasTroubleThatPasses) {
  for (const Failed& trouble :
       {failure(ErrorKind::conflict), failure(ErrorKind::timeout), failure(ErrorKind::unreachable),
        failure(ErrorKind::schema), failure(ErrorKind::internal, true),
        failure(ErrorKind::refused, false, true)}) {
    RouteBoard board(routes(), RetryPolicy{}, BreakerPolicy{}, 1);
    Worker worker(WorkerPolicy{}, board, random_);
    static_cast<void>(worker.on(Event(Started{}), now_));
    Claimed event;
    event.result.messages = {message(1), message(2)};
    event.began = now_;
    static_cast<void>(worker.on(std::move(event), now_));
    Delivered end{.outcomes = {Outcome::delivered(), Outcome::delivered()}, .began = now_};
    Action action = worker.on(std::move(end), now_);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(std::get<DoSettle>(action).settlements.size(), 2U);
      action = worker.on(Event(trouble), now_);
      const auto& wait = std::get<DoWait>(action);
      EXPECT_FALSE(wait.idle);
      EXPECT_GE(wait.until, now_ + 10ms);
      EXPECT_LE(wait.until, now_ + 1s);
      EXPECT_EQ(worker.leases().size(), 2U) << "kept alive meanwhile";
      now_ = wait.until;
      action = worker.on(Event(Woken{}), now_);
    }
    action = worker.on(Event(Settled{}), now_);
    EXPECT_TRUE(std::holds_alternative<DoClaim>(action));
  }
}

TEST_F(WorkerRules, GivesUpASettleWhenTheLeasesHaveRunOut) {
  start();
  run_through({message(1), message(2)}, Outcome::delivered());
  const Instant lease_until = worker_.lease_until();
  while (wants<DoSettle>()) {
    failed(ErrorKind::timeout);
    if (wants<DoWait>()) wait_out();
  }
  EXPECT_TRUE(wants<DoClaim>());
  EXPECT_GE(now_, lease_until);
  EXPECT_LE(now_, lease_until + 1s);
  EXPECT_EQ(count(NoteKind::settle_abandoned), 2U);
  EXPECT_THAT(leases(), IsEmpty());
}

TEST_F(WorkerRules, RepeatsASettleForAsLongAsTheKeeperHoldsTheLeases) {
  start();
  run_through({message(1)}, Outcome::delivered());
  for (int i = 0; i < 300; ++i) {
    worker_.renewed(now_ + 60s);
    failed(ErrorKind::timeout);
    wait_out();
    ASSERT_TRUE(wants<DoSettle>());
  }
  EXPECT_GT(now_, Instant{1h} + 120s);
}

TEST_F(WorkerRules, IsolatesTheOneRowThatTheStoreRefuses) {
  start();
  run_through({message(1), message(2), message(3)}, Outcome::delivered());
  failed(ErrorKind::refused);
  std::vector<std::int64_t> asked;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t id = to_int(only_settlement().lease.id);
    asked.push_back(id);
    if (id == 2) {
      failed(ErrorKind::invalid_input);
    } else {
      settled();
    }
  }
  std::sort(asked.begin(), asked.end());
  EXPECT_THAT(asked, ElementsAre(1, 2, 3));
  EXPECT_EQ(count(NoteKind::settle_refused), 1U);
  EXPECT_EQ(text(NoteKind::settle_refused), "dispatched");
  EXPECT_THAT(leases(), IsEmpty()) << "its lease is left to run out";
  EXPECT_TRUE(wants<DoClaim>());
}

TEST_F(WorkerRules, WaitsWhenTheStoreHasTroubleWhileARowIsIsolated) {
  start();
  run_through({message(1), message(2)}, Outcome::delivered());
  failed(ErrorKind::refused);
  const Lease first = only_settlement().lease;
  failed(ErrorKind::conflict);
  ASSERT_TRUE(wants<DoWait>());
  wait_out();
  EXPECT_EQ(only_settlement().lease, first);
  settled();
  settled({{RowId{1}, 1}});
  EXPECT_EQ(count(NoteKind::lease_lost), 1U);
  EXPECT_EQ(count(NoteKind::settle_refused), 0U);
  EXPECT_TRUE(wants<DoClaim>());
}

TEST_F(WorkerRules, IsolatesOnlyWhatIsToBeWrittenAndThenGoesOnWithTheOtherGroups) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3)});
  delivered({Outcome::delivered(), Outcome::delivered()});
  delivered({Outcome::delivered()}, 200ms);
  ASSERT_THAT(settle(), SizeIs(3));
  settled();
  claimed({message(11, "pair.v1"), message(12, "pair.v1"), message(13, "pair.v1"),
           message(14, "pair.v1"), message(15)});
  delivered_all();
  delivered({Outcome::delivered(), Outcome::delivered()}, 200ms);
  ASSERT_THAT(settle(), SizeIs(4));
  failed(ErrorKind::refused);
  settled();
  settled();
  failed(ErrorKind::refused);
  EXPECT_THAT(leases(), SizeIs(5)) << "until all of them are told";
  settled();
  EXPECT_EQ(count(NoteKind::settle_refused), 1U);
  EXPECT_THAT(leases(), ElementsAre(15));
  EXPECT_THAT(ids(), ElementsAre(15));
}

// All refused alone: the disk is full, no row is at fault. They are kept and written when it is
// mended.
TEST_F(WorkerRules, KeepsOutcomesWhenTheStoreRefusesEachOfThem) {
  start();
  run_through({message(1), message(2)}, Outcome::delivered());
  for (int round = 0; round < 5; ++round) {
    ASSERT_THAT(settle(), SizeIs(2));
    failed(ErrorKind::refused);
    failed(ErrorKind::refused);
    failed(ErrorKind::refused);
    ASSERT_TRUE(wants<DoWait>());
    EXPECT_GT(std::get<DoWait>(action_).until, now_);
    wait_out();
  }
  EXPECT_EQ(count(NoteKind::settle_refused), 0U);
  ASSERT_THAT(settle(), SizeIs(2));
  settled();
  EXPECT_TRUE(wants<DoClaim>());
}

TEST_F(WorkerRules, AbandonsRefusedOutcomesWithTheirLeasesAndForgetsThem) {
  start();
  run_through({message(1), message(2)}, Outcome::delivered());
  failed(ErrorKind::refused);
  failed(ErrorKind::refused);  // one refused alone, one not yet asked
  now_ += 61s;
  failed(ErrorKind::refused);
  EXPECT_EQ(count(NoteKind::settle_abandoned), 2U);
  ASSERT_TRUE(wants<DoClaim>());
  run_through({message(3), message(4)}, Outcome::delivered());
  failed(ErrorKind::refused);
  failed(ErrorKind::refused);
  failed(ErrorKind::refused);
  wait_out();
  EXPECT_THAT(settle(), SizeIs(2)) << "nothing of the earlier batch";
}

// The keeper goes on renewing what can be renewed. A row that alone cannot be written must not hold
// up its worker for ever.
TEST_F(WorkerRules, GivesUpOneRefusedOutcomeAfterTheLeaseItHadThen) {
  start();
  claimed({message(1, "pair.v1"), message(2)});
  delivered_all();
  const Instant lease_until = worker_.lease_until();
  delivered({Outcome::transient("t", "later")}, 200ms);
  failed(ErrorKind::refused);
  settled();
  failed(ErrorKind::refused);
  EXPECT_EQ(count(NoteKind::settle_refused), 1U) << "one of two: the row is at fault";
  notes_.clear();

  run_through({message(3)}, Outcome::delivered());
  while (wants<DoSettle>()) {
    ASSERT_LT(now_, lease_until + 120s);
    worker_.renewed(now_ + 60s);
    failed(ErrorKind::refused);
    if (wants<DoWait>()) wait_out();
  }
  EXPECT_EQ(count(NoteKind::settle_refused), 1U);
  EXPECT_GE(now_, lease_until);
  EXPECT_TRUE(wants<DoClaim>());
}

// ---- draining

TEST_F(WorkerRules, LeavesAtOnceWhenItIsAskedToBeforeItBegan) {
  worker_.drain_by(now_ + 25s);
  start();
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, LeavesWhenItIsIdle) {
  start();
  claimed({});
  worker_.drain_by(now_ + 25s);
  answer(Woken{.by_timer = false});
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, LeavesWithoutAnotherClaimWhenClaimsFail) {
  start();
  failed(ErrorKind::unreachable);
  worker_.drain_by(now_ + 25s);
  answer(Woken{.by_timer = false});
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, GivesBackWhatItClaimedWhenItIsAskedToDuringTheClaim) {
  start();
  worker_.drain_by(now_ + 25s);
  claimed({message(1), message(2, "pair.v1")});
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(2));
  for (const Settlement& settlement : all) {
    EXPECT_EQ(settlement.kind, SettleKind::release);
    EXPECT_EQ(settlement.delay, 0ms);
  }
  EXPECT_EQ(text(NoteKind::released), "shutdown");
  settled();
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, FinishesTheDeliveryThatRunsAndGivesBackTheOtherGroups) {
  start();
  claimed({message(1), message(2, "pair.v1"), message(3, "pair.v1")});
  EXPECT_THAT(ids(), ElementsAre(2, 3));
  worker_.drain_by(now_ + 25s);
  delivered_all();
  const auto all = settle();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].kind, SettleKind::dispatched);
  EXPECT_EQ(all[1].kind, SettleKind::dispatched);
  EXPECT_EQ(all[2].kind, SettleKind::release);
  settled();
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, RepeatsItsLastSettleUntilTheEndOfTheDrain) {
  start();
  claimed({message(1)});
  worker_.drain_by(now_ + 5s);
  worker_.drain_by(now_ + 500s);
  delivered_all();
  while (wants<DoSettle>()) {
    failed(ErrorKind::unreachable);
    if (wants<DoWait>()) wait_out();
  }
  EXPECT_TRUE(wants<DoExit>());
  EXPECT_GE(now_, Instant{1h} + 5s) << "the earliest deadline holds";
  EXPECT_LE(now_, Instant{1h} + 6s);
  EXPECT_EQ(count(NoteKind::settle_abandoned), 1U);
}

// Nothing of a batch is forgotten when it is refused row by row and a stop comes in between.
TEST_F(WorkerRules, KeepsRefusedOutcomesNextToWhatADrainGivesBack) {
  start();
  claimed({message(1, "pair.v1"), message(2, "pair.v1"), message(3, "pair.v1"),
           message(4, "pair.v1"), message(5)});
  delivered_all();
  delivered({Outcome::delivered(), Outcome::delivered()}, 200ms);
  failed(ErrorKind::refused);
  worker_.drain_by(now_ + 25s);
  for (int i = 0; i < 4; ++i) failed(ErrorKind::refused);
  ASSERT_TRUE(wants<DoWait>());
  wait_out();
  EXPECT_THAT(settle(), SizeIs(5));
  EXPECT_THAT(leases(), SizeIs(5));
  settled();
  EXPECT_TRUE(wants<DoExit>());
}

TEST_F(WorkerRules, TellsItsNotesOnce) {
  start();
  run_through({message(1)}, Outcome::delivered());
  EXPECT_EQ(count(NoteKind::dispatched), 1U);
  EXPECT_TRUE(worker_.take_notes().empty());
}

using WorkerRulesDeathTest = WorkerRules;

TEST_F(WorkerRulesDeathTest, TakesNoAnswerToAQuestionThatItDidNotAsk) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(claimed({}), "claiming");
  EXPECT_DEATH(settled(), "settling");
  start();
  EXPECT_DEATH(start(), "nothing");
  EXPECT_DEATH(answer(Delivered{}), "delivering");
  EXPECT_DEATH(answer(Woken{}), "waiting");
}

TEST_F(WorkerRulesDeathTest, WantsAnOutcomeForEachMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  start();
  claimed({message(1), message(2)});
  EXPECT_DEATH(delivered({Outcome::delivered()}), "outcomes");
}

}  // namespace
}  // namespace pillarbox::core
