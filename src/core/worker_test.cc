// SPDX-License-Identifier: Apache-2.0
// The worker as a machine: events in, actions out. No clock, no thread, no store.
#include "core/worker.h"

#include <gtest/gtest.h>

#include <functional>

namespace pillarbox::core {
namespace {

using std::chrono::seconds;

RouteSettings route(std::string name, std::string type) {
  RouteSettings settings;
  settings.name = name;
  settings.type = std::move(type);
  settings.sink = std::move(name);
  return settings;
}

ClaimedMessage message(std::int64_t id, std::string type = "mail.v1") {
  ClaimedMessage m;
  m.lease = {RowId{id}, 1};
  m.job_type = std::move(type);
  m.attempts = 1;
  return m;
}

class WorkerTest : public testing::Test {
 protected:
  static constexpr Millis kLease{60'000};

  RouteBoard make_board(std::size_t workers = 2) const {
    return RouteBoard(routes, {.max_attempts = 3, .base = Millis{1'000}, .cap = Millis{8'000}},
                      BreakerPolicy{}, workers);
  }
  void begin() {
    board.emplace(make_board());
    worker.emplace(policy, *board, random);
    action = worker->on(Event(Started{}), now);
  }
  // Starts a worker whose first claim brought these.
  void claim(std::vector<ClaimedMessage> messages, bool more = false) {
    if (!worker) begin();
    ASSERT_TRUE(is<DoClaim>());
    tell(Claimed{{std::move(messages), more}, now});
  }
  void tell(Event event) {
    action = worker->on(std::move(event), now);
    for (Note& note : worker->take_notes()) notes.push_back(std::move(note));
  }
  void deliver(const Outcome& outcome) {
    ASSERT_TRUE(is<DoDeliver>());
    tell(Delivered{std::vector<Outcome>(as<DoDeliver>().batch.size(), outcome), now});
  }
  void fail(ErrorKind kind) { tell(Failed{kind, false, false, "trouble"}); }
  void wait_over() {
    ASSERT_TRUE(is<DoWait>());
    now = std::max(now, as<DoWait>().until);
    tell(Woken{true});
  }

  template <class A>
  bool is() const {
    return std::holds_alternative<A>(action);
  }
  template <class A>
  const A& as() const {
    return std::get<A>(action);
  }
  std::vector<Settlement> settled() const {
    const auto* settle = std::get_if<DoSettle>(&action);
    if (settle == nullptr) return {};
    return {settle->settlements.begin(), settle->settlements.end()};
  }
  std::size_t noted(NoteKind kind) const {
    std::size_t count = 0;
    for (const Note& note : notes) {
      if (note.kind == kind) count += note.count;
    }
    return count;
  }

  std::vector<RouteSettings> routes = {route("mail", "mail.*"), route("sms", "sms.v1")};
  WorkerPolicy policy{.lease = kLease};
  SeededRandom random{7};
  Instant now{seconds(1'000)};
  std::optional<RouteBoard> board;
  std::optional<Worker> worker;
  Action action;
  std::vector<Note> notes;
};

TEST_F(WorkerTest, ClaimsEverywhereFirstThenDeliversSettlesAndClaimsAgain) {
  begin();
  ASSERT_TRUE(is<DoClaim>());
  EXPECT_TRUE(as<DoClaim>().sweep);
  EXPECT_EQ(as<DoClaim>().count_max, policy.batch_size);
  EXPECT_EQ(as<DoClaim>().lease, kLease);
  claim({message(1), message(2)});
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().batch.size(), 2U);
  EXPECT_EQ(as<DoDeliver>().timeout, routes[0].timeout);
  EXPECT_EQ(as<DoDeliver>().start_before, now + policy.batch_time);
  EXPECT_EQ(worker->leases().size(), 2U);
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(settled()[1].kind, SettleKind::dispatched);
  EXPECT_EQ(settled()[1].lease, (Lease{RowId{2}, 1}));
  tell(Settled{});
  ASSERT_TRUE(is<DoClaim>());
  EXPECT_FALSE(as<DoClaim>().sweep);
  EXPECT_TRUE(worker->leases().empty());
  EXPECT_EQ(noted(NoteKind::dispatched), 2U);
}

TEST_F(WorkerTest, NeverMarksBeforeTheSinkHasAnswered) {
  claim({message(1)});
  EXPECT_TRUE(is<DoDeliver>());
  EXPECT_TRUE(settled().empty());
}

TEST_F(WorkerTest, WaitsAfterAnEmptyClaimAndSweepsWhenTheTimerWokeIt) {
  claim({});
  ASSERT_TRUE(is<DoWait>());
  EXPECT_TRUE(as<DoWait>().idle);
  EXPECT_EQ(as<DoWait>().until, now + policy.poll_interval);
  tell(Woken{false});
  ASSERT_TRUE(is<DoClaim>());
  EXPECT_FALSE(as<DoClaim>().sweep);
  tell(Claimed{{}, now});
  wait_over();
  ASSERT_TRUE(is<DoClaim>());
  EXPECT_TRUE(as<DoClaim>().sweep);
}

TEST_F(WorkerTest, ClaimsAgainAtOnceWhenThereMayBeMore) {
  claim({}, true);
  EXPECT_TRUE(is<DoClaim>());
}

// Sweeping looks at much; a slow one must not take up all the time of a busy worker.
TEST_F(WorkerTest, SweepsAtMostATwentiethOfTheTime) {
  begin();
  const Instant began = now;
  now += seconds(1);
  tell(Claimed{{{message(1)}, true}, began});
  const Instant swept = now;
  bool swept_again = false;
  while (!swept_again) {
    deliver(Outcome::delivered());
    tell(Settled{});
    ASSERT_TRUE(is<DoClaim>());
    swept_again = as<DoClaim>().sweep;
    if (swept_again) break;
    now += Millis{500};
    tell(Claimed{{{message(1)}, true}, now});
  }
  EXPECT_GE(now - swept, seconds(20));
  EXPECT_LT(now - swept, seconds(22));
}

TEST_F(WorkerTest, GroupsByRouteAndKeepsToTheRoutesBatch) {
  routes[0].batch_max = 2;
  claim({message(1), message(2, "sms.v1"), message(3), message(4), message(5, "sms.v1")});
  std::vector<std::pair<RouteIndex, std::vector<std::int64_t>>> calls;
  while (is<DoDeliver>()) {
    calls.emplace_back(as<DoDeliver>().route, std::vector<std::int64_t>{});
    for (const ClaimedMessage& m : as<DoDeliver>().batch)
      calls.back().second.push_back(to_int(m.lease.id));
    deliver(Outcome::delivered());
  }
  const decltype(calls) expected = {{0, {1, 3}}, {0, {4}}, {1, {2, 5}}};
  EXPECT_EQ(calls, expected);
  EXPECT_EQ(settled().size(), 5U);
}

// A message that killed its last holder must not take its neighbours down.
TEST_F(WorkerTest, DeliversReclaimedMessagesAloneAndLast) {
  ClaimedMessage suspect = message(1);
  suspect.reclaimed = true;
  claim({suspect, message(2), message(3)});
  ASSERT_EQ(as<DoDeliver>().batch.size(), 2U);
  deliver(Outcome::delivered());
  EXPECT_EQ(settled().size(), 2U);  // what is known is written before
  tell(Settled{});
  ASSERT_TRUE(is<DoDeliver>());
  ASSERT_EQ(as<DoDeliver>().batch.size(), 1U);
  EXPECT_EQ(as<DoDeliver>().batch[0].lease.id, RowId{1});
  EXPECT_EQ(noted(NoteKind::reclaimed), 1U);
}

TEST_F(WorkerTest, KillsWhatMustNotBeDelivered) {
  ClaimedMessage malformed = message(1);
  malformed.defect = "headers are not an object";
  ClaimedMessage expired = message(2);
  expired.expired = true;
  ClaimedMessage poison = message(3);
  poison.attempts = 4;
  ClaimedMessage lost = message(4, "nowhere.v1");
  lost.expired = true;
  routes[0].on_dead = KeyPolicy::park;
  claim({malformed, expired, poison, lost});
  ASSERT_EQ(settled().size(), 4U);
  const DeadReason reasons[] = {DeadReason::malformed, DeadReason::expired, DeadReason::poison,
                                DeadReason::expired};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(settled()[i].kind, SettleKind::dead);
    EXPECT_EQ(settled()[i].reason, reasons[i]);
    EXPECT_FALSE(settled()[i].error.empty());
  }
  EXPECT_EQ(settled()[0].key_policy, KeyPolicy::park);
  EXPECT_EQ(settled()[3].key_policy, KeyPolicy::hold);
  EXPECT_EQ(noted(NoteKind::died), 4U);
}

TEST_F(WorkerTest, DeliversTheLastPermittedAttempt) {
  ClaimedMessage last = message(1);
  last.attempts = 3;
  claim({last});
  ASSERT_TRUE(is<DoDeliver>());
  deliver(Outcome::transient("http_500", "no"));
  ASSERT_EQ(settled().size(), 1U);
  EXPECT_EQ(settled()[0].kind, SettleKind::dead);
  EXPECT_EQ(settled()[0].reason, DeadReason::attempts);
}

TEST_F(WorkerTest, LeavesTypesAloneThatNoRouteTakes) {
  claim({message(1, "nowhere.v1")});
  ASSERT_EQ(settled().size(), 1U);
  EXPECT_EQ(settled()[0].kind, SettleKind::release);
  EXPECT_EQ(settled()[0].delay, Millis{0});  // free for a relay that has the route
  EXPECT_EQ(noted(NoteKind::unroutable), 1U);
  tell(Settled{});
  EXPECT_EQ(as<DoClaim>().excluded_types, std::vector<std::string>{"nowhere.v1"});
  EXPECT_EQ(board->unroutable_types(), std::vector<std::string>{"nowhere.v1"});
}

TEST_F(WorkerTest, GivesBrakedMessagesBackUntried) {
  begin();
  board->set_brakes({"type:mail.*"});
  claim({message(1), message(2, "sms.v1"), message(3)});
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().route, 1U);
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 3U);
  EXPECT_EQ(settled()[0].kind, SettleKind::release);
  EXPECT_EQ(settled()[0].code, "") << "not sent: no attempt to tell of";
  EXPECT_EQ(settled()[1].kind, SettleKind::release);
  EXPECT_EQ(settled()[2].kind, SettleKind::dispatched);
}

// The brake comes on while a claimed batch is being worked through: the groups that have not begun
// stay where they are.
TEST_F(WorkerTest, LooksAtTheBrakeBeforeEachDelivery) {
  routes[0].batch_max = 1;
  claim({message(1), message(2)});
  ASSERT_TRUE(is<DoDeliver>());
  board->set_brakes({"all"});
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(settled()[0].kind, SettleKind::dispatched);
  EXPECT_EQ(settled()[1].code, "");
}

TEST_F(WorkerTest, BrakesOnlyTheBrakedPartOfAGroup) {
  begin();
  board->set_brakes({"type:mail.v2"});
  claim({message(1), message(2, "mail.v2"), message(3)});
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().batch.size(), 2U);
}

// A slow delivery has eaten the lease: what comes after may be somebody else's by now.
TEST_F(WorkerTest, SendsNothingWhenTheLeaseIsNearlyOver) {
  routes[0].batch_max = 1;
  claim({message(1), message(2)});
  now += kLease - Millis{5'000};
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(settled()[1].kind, SettleKind::release);
}

TEST_F(WorkerTest, GoesOnWhenTheKeeperHasRenewedTheLease) {
  routes[0].batch_max = 1;
  policy.settle_after = kLease;
  claim({message(1), message(2)});
  now += kLease - Millis{5'000};
  worker->renewed(now + kLease);
  deliver(Outcome::delivered());
  EXPECT_TRUE(is<DoDeliver>());
}

TEST_F(WorkerTest, WritesOldOutcomesBetweenGroupsAndYoungOnesAtTheEnd) {
  routes[0].batch_max = 1;
  claim({message(1), message(2), message(3)});
  deliver(Outcome::delivered());
  ASSERT_TRUE(is<DoDeliver>());
  now += policy.settle_after;
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 2U);
  tell(Settled{});
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(worker->leases().size(), 1U);
  deliver(Outcome::delivered());
  EXPECT_EQ(settled().size(), 1U);
}

TEST_F(WorkerTest, RetriesWithADelayThatGrowsWithTheAttempts) {
  ClaimedMessage second = message(1);
  second.attempts = 2;
  claim({second, message(2)});
  tell(Delivered{{Outcome::transient("x", "y"), Outcome::delivered()}, now});
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(settled()[0].kind, SettleKind::retry);
  EXPECT_GE(settled()[0].delay, Millis{500});
  EXPECT_LE(settled()[0].delay, Millis{2'000});
  EXPECT_EQ(settled()[0].code, "x");
  EXPECT_EQ(settled()[0].error, "y");
}

TEST_F(WorkerTest, BuriesWhatCannotWork) {
  routes[0].on_dead = KeyPolicy::skip;
  claim({message(1)});
  deliver(Outcome::permanent("http_400", "bad"));
  ASSERT_EQ(settled().size(), 1U);
  EXPECT_EQ(settled()[0].kind, SettleKind::dead);
  EXPECT_EQ(settled()[0].reason, DeadReason::permanent);
  EXPECT_EQ(settled()[0].key_policy, KeyPolicy::skip);
}

TEST_F(WorkerTest, BacksARouteOffThatThrottlesAndLetsTheOthersGoOn) {
  claim({message(1), message(2, "sms.v1")});
  deliver(Outcome::throttled("http_429", "slow down", Millis{30'000}));
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().route, 1U);
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(settled()[0].kind, SettleKind::release);
  EXPECT_GE(settled()[0].delay, Millis{30'000});
  EXPECT_LE(settled()[0].delay, Millis{37'500});
  tell(Settled{});
  ASSERT_TRUE(is<DoClaim>());
  EXPECT_EQ(as<DoClaim>().excluded_types, std::vector<std::string>{"mail.v1"});
  now += Millis{30'000};
  tell(Claimed{{}, now});
  tell(Woken{false});
  EXPECT_TRUE(as<DoClaim>().excluded_types.empty());
  EXPECT_TRUE(as<DoClaim>().sweep);
}

// The sink is down for an hour: whatever the number of claims, no attempt is spent.
TEST_F(WorkerTest, NothingDiesWhileTheSinkIsUnavailable) {
  begin();
  const Instant end = now + seconds(3'600);
  std::size_t calls = 0;
  while (now < end) {
    if (is<DoClaim>()) {
      const bool mail_left_alone = !as<DoClaim>().excluded_types.empty();
      std::vector<ClaimedMessage> messages;
      if (!mail_left_alone) messages = {message(1), message(2)};
      tell(Claimed{{std::move(messages), false}, now});
    } else if (is<DoDeliver>()) {
      ++calls;
      deliver(Outcome::unavailable("curl_7", "refused"));
    } else if (is<DoSettle>()) {
      for (const Settlement& s : settled()) ASSERT_EQ(s.kind, SettleKind::release);
      tell(Settled{});
    } else {
      wait_over();
    }
  }
  EXPECT_LT(calls, 150U);
  EXPECT_EQ(noted(NoteKind::retried) + noted(NoteKind::died), 0U);
  EXPECT_GE(noted(NoteKind::breaker_opened), 1U);
}

TEST_F(WorkerTest, ProbesWithOneMessageAndGoesOnWithTheRestWhenItIsTaken) {
  claim({message(1)});
  deliver(Outcome::unavailable("curl_7", "refused"));
  tell(Settled{});
  now = board->blocked_until(0);
  tell(Claimed{{{message(1), message(2), message(3)}, false}, now});
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().batch.size(), 1U);
  deliver(Outcome::delivered());
  EXPECT_EQ(noted(NoteKind::breaker_closed), 1U);
  ASSERT_TRUE(is<DoDeliver>());
  EXPECT_EQ(as<DoDeliver>().batch.size(), 2U);
}

TEST_F(WorkerTest, GivesTheRestBackWhenTheProbeFails) {
  claim({message(1)});
  deliver(Outcome::unavailable("curl_7", "refused"));
  tell(Settled{});
  now = board->blocked_until(0);
  tell(Claimed{{{message(1), message(2), message(3)}, false}, now});
  deliver(Outcome::unavailable("curl_7", "refused"));
  ASSERT_EQ(settled().size(), 3U);
  for (const Settlement& s : settled()) EXPECT_EQ(s.kind, SettleKind::release);
}

TEST_F(WorkerTest, OpensTheBreakerAfterFiveCallsInARowThatAllFailed) {
  routes[0].batch_max = 1;
  claim({message(1), message(2), message(3), message(4), message(5), message(6)});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(is<DoDeliver>());
    deliver(Outcome::transient("http_500", "no"));
  }
  ASSERT_EQ(settled().size(), 6U);
  EXPECT_EQ(settled()[4].kind, SettleKind::retry);
  EXPECT_EQ(settled()[5].kind, SettleKind::release);
  EXPECT_EQ(noted(NoteKind::breaker_opened), 1U);
}

TEST_F(WorkerTest, StopsARouteWhoseSinkAskedForSilence) {
  claim({message(1)});
  Outcome gone = Outcome::permanent("http_410", "gone");
  gone.stops_route = true;
  deliver(gone);
  EXPECT_EQ(noted(NoteKind::route_stopped), 1U);
  EXPECT_EQ(board->blocked_until(0), now + policy.stopped_route_delay);
}

TEST_F(WorkerTest, CountsWhatTheSinkHadBefore) {
  claim({message(1)});
  Outcome again = Outcome::delivered();
  again.duplicate_absorbed = true;
  deliver(again);
  EXPECT_EQ(noted(NoteKind::duplicate_absorbed), 1U);
}

// ---- the store in trouble

TEST_F(WorkerTest, RepeatsAFailedClaimWithGrowingWaitsAndThenLooksEverywhere) {
  begin();
  Millis longest{0};
  for (int i = 0; i < 30; ++i) {
    fail(ErrorKind::unreachable);
    ASSERT_TRUE(is<DoWait>());
    EXPECT_FALSE(as<DoWait>().idle);
    EXPECT_GT(as<DoWait>().until, now);
    longest = std::max(longest, std::chrono::duration_cast<Millis>(as<DoWait>().until - now));
    wait_over();
    ASSERT_TRUE(is<DoClaim>());
    EXPECT_TRUE(as<DoClaim>().sweep);
  }
  EXPECT_GT(longest, Millis{2'000});
  EXPECT_LE(longest, Millis{10'000});
}

// Only the earliest settle may be repeated, never the delivery.
TEST_F(WorkerTest, RepeatsTheSameSettleAsLongAsTheLeasesLive) {
  claim({message(1), message(2)});
  deliver(Outcome::delivered());
  for (const ErrorKind kind : {ErrorKind::conflict, ErrorKind::timeout, ErrorKind::unreachable}) {
    fail(kind);
    wait_over();
    ASSERT_EQ(settled().size(), 2U);
  }
  tell(Failed{ErrorKind::internal, true, false, "gone"});
  wait_over();
  tell(Failed{ErrorKind::internal, false, true, "in doubt"});
  wait_over();
  ASSERT_EQ(settled().size(), 2U);
  EXPECT_EQ(worker->leases().size(), 2U);
  tell(Settled{{Lease{RowId{1}, 1}}});
  EXPECT_EQ(noted(NoteKind::lease_lost), 1U);
  EXPECT_EQ(noted(NoteKind::settle_failed), 5U);
  EXPECT_TRUE(is<DoClaim>());
}

TEST_F(WorkerTest, GivesASettleUpWhenTheLeasesAreOver) {
  claim({message(1)});
  deliver(Outcome::delivered());
  now += kLease;
  fail(ErrorKind::unreachable);
  EXPECT_EQ(noted(NoteKind::settle_abandoned), 1U);
  EXPECT_TRUE(is<DoClaim>());
  EXPECT_TRUE(worker->leases().empty());
}

// One row that the store will not take must not hold up its neighbours.
TEST_F(WorkerTest, IsolatesARefusedSettlement) {
  claim({message(1), message(2), message(3)});
  deliver(Outcome::delivered());
  fail(ErrorKind::refused);
  std::vector<std::int64_t> done;
  while (is<DoSettle>()) {
    ASSERT_EQ(settled().size(), 1U);
    const std::int64_t id = to_int(settled()[0].lease.id);
    if (id == 2) {
      fail(ErrorKind::refused);
    } else {
      done.push_back(id);
      tell(Settled{});
    }
  }
  EXPECT_EQ(done, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(noted(NoteKind::settle_refused), 1U);
  EXPECT_TRUE(is<DoClaim>());
  EXPECT_TRUE(worker->leases().empty());
}

TEST_F(WorkerTest, WaitsOutTroubleOfTheStoreAlsoBetweenSingleSettlements) {
  claim({message(1), message(2)});
  deliver(Outcome::delivered());
  fail(ErrorKind::invalid_input);
  fail(ErrorKind::timeout);
  ASSERT_TRUE(is<DoWait>());
  wait_over();
  ASSERT_EQ(settled().size(), 1U);
  tell(Settled{});
  tell(Settled{});
  EXPECT_TRUE(is<DoClaim>());
  EXPECT_EQ(noted(NoteKind::settle_refused), 0U);
}

// A full disk refuses everything: that is no row's fault, and it may end.
TEST_F(WorkerTest, TriesTheWholeAgainWhenEachWasRefused) {
  claim({message(1), message(2)});
  deliver(Outcome::delivered());
  for (int i = 0; i < 3; ++i) fail(ErrorKind::refused);
  ASSERT_TRUE(is<DoWait>());
  wait_over();
  ASSERT_EQ(settled().size(), 2U);
  tell(Settled{});
  EXPECT_TRUE(is<DoClaim>());
  EXPECT_EQ(noted(NoteKind::settle_refused), 0U);
}

// The keeper still renews while the store refuses this row: the worker must come free all the same.
TEST_F(WorkerTest, DoesNotAskForEverAStoreThatRefuses) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
    worker.reset();
    notes.clear();
    std::vector<ClaimedMessage> messages;
    for (std::size_t i = 0; i < count; ++i)
      messages.push_back(message(static_cast<std::int64_t>(i) + 1));
    claim(std::move(messages));
    deliver(Outcome::delivered());
    int steps = 0;
    while (!is<DoClaim>() && ++steps < 10'000) {
      worker->renewed(now + kLease);
      if (is<DoSettle>()) {
        fail(ErrorKind::refused);
      } else {
        wait_over();
      }
    }
    EXPECT_TRUE(is<DoClaim>());
    EXPECT_EQ(noted(NoteKind::settle_refused), count);
    EXPECT_TRUE(worker->leases().empty());
  }
}

TEST_F(WorkerTest, GivesSingleSettlementsUpWhenTheLeasesAreOver) {
  claim({message(1), message(2)});
  deliver(Outcome::delivered());
  fail(ErrorKind::refused);
  now += kLease;
  fail(ErrorKind::refused);
  EXPECT_EQ(noted(NoteKind::settle_abandoned), 2U);
  EXPECT_TRUE(is<DoClaim>());
}

// ---- draining

TEST_F(WorkerTest, ExitsAtOnceWhenAskedWhileIdle) {
  claim({});
  ASSERT_TRUE(is<DoWait>());
  worker->drain_by(now + seconds(5));
  tell(Woken{false});
  EXPECT_TRUE(is<DoExit>());
}

TEST_F(WorkerTest, FinishesWhatIsInFlightAndGivesTheRestBack) {
  routes[0].batch_max = 1;
  claim({message(1), message(2), message(3)});
  worker->drain_by(now + seconds(5));
  deliver(Outcome::delivered());
  ASSERT_EQ(settled().size(), 3U);
  EXPECT_EQ(settled()[0].kind, SettleKind::dispatched);
  EXPECT_EQ(settled()[1].kind, SettleKind::release);
  EXPECT_EQ(settled()[1].delay, Millis{0});
  EXPECT_EQ(settled()[2].kind, SettleKind::release);
  tell(Settled{});
  EXPECT_TRUE(is<DoExit>());
}

TEST_F(WorkerTest, GivesBackWhatAClaimBringsAfterTheDrainBegan) {
  begin();
  worker->drain_by(now + seconds(5));
  claim({message(1)});
  ASSERT_EQ(settled().size(), 1U);
  EXPECT_EQ(settled()[0].kind, SettleKind::release);
  tell(Settled{});
  EXPECT_TRUE(is<DoExit>());
}

TEST_F(WorkerTest, KeepsTryingToSettleUntilTheDrainIsOver) {
  claim({message(1)});
  worker->drain_by(now + seconds(9));
  worker->drain_by(now + seconds(5));
  worker->drain_by(now + seconds(7));
  deliver(Outcome::delivered());
  fail(ErrorKind::unreachable);
  wait_over();
  ASSERT_EQ(settled().size(), 1U);
  now += seconds(5);
  fail(ErrorKind::unreachable);
  EXPECT_TRUE(is<DoExit>());
  EXPECT_EQ(noted(NoteKind::settle_abandoned), 1U);
}

// A drain begins while the batch is being written row by row, and the store then refuses each:
// neither part may be forgotten.
TEST_F(WorkerTest, ForgetsNothingWhenADrainMeetsARefusal) {
  routes[0].batch_max = 2;
  claim({message(1), message(2), message(3)});
  now += policy.settle_after;
  deliver(Outcome::delivered());
  ASSERT_TRUE(is<DoDeliver>());
  now += policy.settle_after;
  deliver(Outcome::delivered());
  fail(ErrorKind::refused);
  worker->drain_by(now + seconds(30));
  while (is<DoSettle>() && settled().size() == 1) fail(ErrorKind::refused);
  wait_over();
  EXPECT_EQ(settled().size(), 3U);
}

// Every sequence of outcomes and store answers of a small batch: each lease is settled exactly
// once, and only what the sink acknowledged is marked dispatched.
TEST_F(WorkerTest, SettlesEachLeaseOnceForEveryCourseOfEvents) {
  const Outcome kinds[] = {
      Outcome::delivered(),           Outcome::transient("t", "t"),
      Outcome::permanent("p", "p"),   Outcome::throttled("r", "r", Millis{5'000}),
      Outcome::unavailable("u", "u"), Outcome::not_sent("n")};
  for (std::size_t code = 0; code < 6 * 6 * 6 * 4; ++code) {
    const std::size_t picks[] = {code % 6, code / 6 % 6, code / 36 % 6};
    const bool fails_once = code / 216 % 2 == 1;
    const bool drains = code / 432 == 1;
    routes[0].batch_max = 2;
    worker.reset();
    claim({message(1), message(2), message(3)});
    bool failed = false;
    std::map<std::int64_t, SettleKind> ends;
    while (!is<DoClaim>() && !is<DoExit>()) {
      if (is<DoDeliver>()) {
        if (drains) worker->drain_by(now + seconds(5));
        std::vector<Outcome> outcomes;
        for (const ClaimedMessage& m : as<DoDeliver>().batch)
          outcomes.push_back(kinds[picks[to_int(m.lease.id) - 1]]);
        tell(Delivered{std::move(outcomes), now});
      } else if (is<DoSettle>()) {
        if (fails_once && !failed) {
          failed = true;
          fail(ErrorKind::timeout);
          continue;
        }
        for (const Settlement& s : settled()) {
          EXPECT_TRUE(ends.emplace(to_int(s.lease.id), s.kind).second) << code;
        }
        tell(Settled{});
      } else {
        wait_over();
      }
    }
    EXPECT_EQ(ends.size(), 3U) << code;
    for (const auto& [id, kind] : ends) {
      if (kind == SettleKind::dispatched) {
        EXPECT_EQ(picks[id - 1], 0U) << code;
      }
    }
  }
}

}  // namespace
}  // namespace pillarbox::core
