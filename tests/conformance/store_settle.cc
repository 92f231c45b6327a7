// SPDX-License-Identifier: Apache-2.0
// What a claimant says at the end of a claim.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreSettle, MarksAMessageAsDispatched) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(dispatched(got.lease)));
  const MessageRow done = row(got.lease.id);
  EXPECT_EQ(done.status, Status::dispatched);
  EXPECT_TRUE(done.dispatched_at);
  EXPECT_EQ(done.claimed_by, "");
  EXPECT_FALSE(done.locked_until);
  EXPECT_TRUE(claim_all().empty());
}

// retention.dispatched = "0": settled rows leave, and with them their history.
TEST_P(StoreSettle, RemovesADispatchedMessageWhenNoneAreKept) {
  const auto leaving = outbox().connect("host-a:1:aaaaaaaa", false);
  enqueue(message());
  ClaimedMessage got = claim_one(*leaving);
  EXPECT_TRUE(settle(*leaving, retry(got.lease)));
  got = claim_one(*leaving);
  EXPECT_TRUE(settle(*leaving, dispatched(got.lease)));
  EXPECT_FALSE(admin().find(got.message_id));
  EXPECT_FALSE(admin().show(got.lease.id, false));
}

TEST_P(StoreSettle, PutsAMessageBackForARetry) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease)));
  const ClaimedMessage again = claim_one();
  EXPECT_EQ(again.message_id, got.message_id);
  EXPECT_EQ(again.lease.id, got.lease.id);
  EXPECT_EQ(again.attempts, 2);
  EXPECT_FALSE(again.reclaimed);
}

// The next attempt's time belongs to the row and to the database's clock.
TEST_P(StoreSettle, MakesARetryDueByTheDatabasesClock) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease, Millis{600'000})));
  EXPECT_GT(ahead(row(got.lease.id).available_at), Millis{540'000});
  EXPECT_LE(ahead(row(got.lease.id).available_at), Millis{600'001});
  EXPECT_TRUE(claim_all().empty());
  outbox().age(got.lease.id, Millis{601'000});
  EXPECT_EQ(claim_one().message_id, got.message_id);
}

TEST_P(StoreSettle, WritesTheHistoryOfARetry) {
  const ClaimedMessage got = claimed();
  Settlement settlement = retry(got.lease);
  settlement.took = Millis{1'500};
  EXPECT_TRUE(settle(settlement));
  const MessageDetail detail = show(got.lease.id);
  EXPECT_EQ(detail.row.last_error, "the sink answered 503");
  ASSERT_EQ(detail.attempts.size(), 1U);
  const AttemptRow& attempt = detail.attempts[0];
  EXPECT_EQ(attempt.outcome, "retry");
  EXPECT_EQ(attempt.code, "http_503");
  EXPECT_EQ(attempt.error, "the sink answered 503");
  EXPECT_EQ(attempt.attempt, 1);
  EXPECT_EQ(attempt.claim_no, 1);
  EXPECT_EQ(attempt.claimed_by, "host-a:1:aaaaaaaa");
  EXPECT_EQ(attempt.took_ms, 1'500);
}

// Guarantee 7: an outage is not poison.
TEST_P(StoreSettle, GivesTheAttemptBackWhenReleased) {
  ClaimedMessage got = claimed();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(settle(release(got.lease)));
    EXPECT_EQ(row(got.lease.id).attempts, 0);
    got = claim_one();
    EXPECT_EQ(got.attempts, 1);
  }
}

TEST_P(StoreSettle, HoldsAReleasedMessageBackForTheDelay) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(release(got.lease, Millis{600'000}, "unavailable")));
  EXPECT_TRUE(claim_all().empty());
  EXPECT_EQ(row(got.lease.id).status, Status::pending);
}

// A drain on stop releases hundreds: no history for it, unless there is something to say.
TEST_P(StoreSettle, WritesHistoryOfAReleaseOnlyWhenACodeIsGiven) {
  ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(release(got.lease)));
  EXPECT_TRUE(outcomes(got.lease.id).empty());
  got = claim_one();
  EXPECT_TRUE(settle(release(got.lease, Millis{0}, "unavailable")));
  EXPECT_EQ(outcomes(got.lease.id), std::vector<std::string>{"release"});
}

TEST_P(StoreSettle, EndsManyOutcomesInOneCall) {
  enqueue_many(5);
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 5U);
  const std::vector<Settlement> all = {dispatched(got[0].lease), retry(got[1].lease),
                                       dead(got[2].lease), release(got[3].lease),
                                       dispatched(got[4].lease)};
  EXPECT_TRUE(store().settle(all).empty());
  EXPECT_EQ(row(got[0].lease.id).status, Status::dispatched);
  EXPECT_EQ(row(got[1].lease.id).status, Status::pending);
  EXPECT_EQ(row(got[2].lease.id).status, Status::dead);
  EXPECT_EQ(row(got[3].lease.id).status, Status::pending);
  EXPECT_EQ(row(got[3].lease.id).attempts, 0);
  EXPECT_EQ(row(got[4].lease.id).status, Status::dispatched);
}

TEST_P(StoreSettle, EndsALargeBatch) {
  enqueue_many(1'000);
  std::vector<Settlement> all;
  for (const ClaimedMessage& message : claim_all({.count_max = 1'000}))
    all.push_back(dispatched(message.lease));
  ASSERT_EQ(all.size(), 1'000U);
  EXPECT_TRUE(store().settle(all).empty());
  EXPECT_EQ(count({.statuses = {Status::pending, Status::claimed}}), 0U);
}

TEST_P(StoreSettle, EndsNothingWhenGivenNothing) { EXPECT_TRUE(store().settle({}).empty()); }

// Guarantee 4, for each kind of end: a holder whose lease was taken over changes nothing.
TEST_P(StoreSettle, LeavesALeaseAloneThatSomebodyElseHolds) {
  const ClaimedMessage stale = claimed();
  lose_lease(stale.lease.id);
  const auto other = outbox().connect(std::string(kOther));
  const ClaimedMessage fresh = claim_one(*other);
  for (const Settlement& late : {dispatched(stale.lease), retry(stale.lease), dead(stale.lease),
                                 release(stale.lease, Millis{0}, "unavailable")}) {
    EXPECT_FALSE(settle(late)) << to_string(late.kind);
    EXPECT_EQ(row(fresh.lease.id).claimed_by, kOther) << to_string(late.kind);
  }
  EXPECT_EQ(outcomes(fresh.lease.id), std::vector<std::string>{"lease_lost"});
  EXPECT_TRUE(show(fresh.lease.id).dead_letters.empty());
  EXPECT_TRUE(settle(*other, dispatched(fresh.lease)));
}

// The same process claimed the row anew; its slow thread wakes up with the old number.
TEST_P(StoreSettle, LeavesALaterClaimOfTheSameRelayAlone) {
  const ClaimedMessage stale = claimed();
  lose_lease(stale.lease.id);
  const ClaimedMessage fresh = claim_one();
  for (const Settlement& late :
       {dispatched(stale.lease), retry(stale.lease), dead(stale.lease), release(stale.lease)})
    EXPECT_FALSE(settle(late)) << to_string(late.kind);
  EXPECT_EQ(row(fresh.lease.id).status, Status::claimed);
  EXPECT_TRUE(settle(dispatched(fresh.lease)));
}

// The right number from the wrong relay is not enough.
TEST_P(StoreSettle, LeavesALeaseOfAnotherRelayAloneThoughTheNumberIsRight) {
  const ClaimedMessage got = claimed();
  const auto other = outbox().connect(std::string(kOther));
  for (const Settlement& foreign :
       {dispatched(got.lease), retry(got.lease), dead(got.lease), release(got.lease)})
    EXPECT_FALSE(settle(*other, foreign)) << to_string(foreign.kind);
  EXPECT_TRUE(settle(dispatched(got.lease)));
}

// Late, but nobody took it over: the outcome counts, so no message is delivered twice for nothing.
TEST_P(StoreSettle, CountsThoughTheLeaseRanOutWhenNobodyTookItOver) {
  const ClaimedMessage got = claimed();
  lose_lease(got.lease.id);
  EXPECT_TRUE(settle(dispatched(got.lease)));
  EXPECT_EQ(row(got.lease.id).status, Status::dispatched);
}

// The answer to a settle was lost, so the relay says it again.
TEST_P(StoreSettle, ChangesNothingWhenRepeated) {
  enqueue_many(4);
  const auto got = claim_all();
  const std::vector<Settlement> all = {dispatched(got[0].lease), retry(got[1].lease),
                                       dead(got[2].lease),
                                       release(got[3].lease, Millis{0}, "unavailable")};
  EXPECT_TRUE(store().settle(all).empty());
  EXPECT_EQ(store().settle(all).size(), 4U);
  EXPECT_EQ(row(got[0].lease.id).status, Status::dispatched);
  EXPECT_EQ(row(got[1].lease.id).attempts, 1);
  EXPECT_EQ(outcomes(got[1].lease.id), std::vector<std::string>{"retry"});
  EXPECT_EQ(outcomes(got[2].lease.id), std::vector<std::string>{"dead"});
  EXPECT_EQ(outcomes(got[3].lease.id), std::vector<std::string>{"release"});
  EXPECT_EQ(row(got[3].lease.id).attempts, 0);
}

TEST_P(StoreSettle, ReturnsExactlyThoseThatWereNotOurs) {
  enqueue_many(3);
  const auto got = claim_all();
  EXPECT_TRUE(settle(dispatched(got[1].lease)));
  const Lease unknown{RowId{987'654'321}, 1};
  const std::vector<Settlement> all = {dispatched(got[0].lease), dispatched(got[1].lease),
                                       dispatched(unknown), retry(got[2].lease)};
  EXPECT_EQ(store().settle(all), (std::vector{got[1].lease, unknown}));
}

// The message is gone for good, and its former holder wakes up.
TEST_P(StoreSettle, LeavesADiscardedMessageGone) {
  const ClaimedMessage stale = claimed();
  lose_lease(stale.lease.id);
  EXPECT_TRUE(settle(dead(claim_one().lease)));
  EXPECT_EQ(discard(stale.lease.id).done, 1);
  for (const Settlement& late : {dispatched(stale.lease), retry(stale.lease), dead(stale.lease)})
    EXPECT_FALSE(settle(late)) << to_string(late.kind);
  EXPECT_EQ(show(stale.lease.id).row.view, "discarded");
  EXPECT_EQ(count(), 0U);
}

// What the mark writes is never a reason to refuse it: long, cut at a character's border, odd.
TEST_P(StoreSettle, CutsALongErrorAtACharactersBorder) {
  const ClaimedMessage got = claimed();
  std::string error = "x";
  for (int i = 0; i < 1'000; ++i) error += "\xF0\x9F\x93\xAE";
  EXPECT_TRUE(settle(retry(got.lease, Millis{0}, error)));
  EXPECT_EQ(row(got.lease.id).last_error, error.substr(0, 1'997));
}

TEST_P(StoreSettle, TakesAnErrorTextThatIsNoText) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease, Millis{0}, std::string("\xFF\x00\xC3(", 4))));
  EXPECT_EQ(claim_one().message_id, got.message_id);
}

TEST_P(StoreSettle, ForgetsTheLastErrorOnceDispatched) {
  ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease)));
  got = claim_one();
  EXPECT_TRUE(settle(dispatched(got.lease)));
  EXPECT_EQ(row(got.lease.id).last_error, "");
  EXPECT_EQ(outcomes(got.lease.id), std::vector<std::string>{"retry"});
}

}  // namespace pillarbox::testing
