// SPDX-License-Identifier: Apache-2.0
// Leases: who holds a message, until when, and how a stale holder is kept from writing.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

// Guarantee 5: two live leases never hold one message.
TEST_P(StoreLease, IsNotGivenToASecondRelayWhileItLives) {
  enqueue_many(5);
  const auto other = outbox().connect(std::string(kOther));
  EXPECT_EQ(claim_all().size(), 5U);
  EXPECT_TRUE(claim_all(*other).empty());
}

TEST_P(StoreLease, IsNotGivenAgainToTheRelayThatHoldsIt) {
  claimed();
  EXPECT_TRUE(claim_all().empty());
}

// A claimer skips what others hold and takes the rest, without waiting.
TEST_P(StoreLease, IsSkippedByOthersWhoTakeTheRest) {
  const auto sent = enqueue_many(10);
  const auto other = outbox().connect(std::string(kOther));
  const auto first = ids(store().claim({.count_max = 4}).messages);
  const auto rest = ids(claim_all(*other));
  EXPECT_EQ(first.size() + rest.size(), 10U);
  std::vector<MessageId> both = first;
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(as_set(both), as_set(sent));
}

TEST_P(StoreLease, EndsAtTheGivenTimeByTheDatabasesClock) {
  enqueue(message());
  const auto got = claim_all({.lease = Millis{600'000}});
  ASSERT_EQ(got.size(), 1U);
  const MessageRow held = row(got[0].lease.id);
  EXPECT_EQ(held.status, Status::claimed);
  EXPECT_EQ(held.claimed_by, "host-a:1:aaaaaaaa");
  ASSERT_TRUE(held.locked_until);
  EXPECT_GT(ahead(*held.locked_until), Millis{540'000});
  EXPECT_LE(ahead(*held.locked_until), Millis{600'001});
}

// Guarantee 2: a relay died with its leases; each message is claimed again after the lease.
TEST_P(StoreLease, IsTakenOverOnceItHasRunOut) {
  const ClaimedMessage lost = claimed();
  lose_lease(lost.lease.id);
  const auto other = outbox().connect(std::string(kOther));
  const ClaimedMessage again = claim_one(*other);
  EXPECT_EQ(again.message_id, lost.message_id);
  EXPECT_TRUE(again.reclaimed);
  EXPECT_EQ(row(again.lease.id).claimed_by, kOther);
}

TEST_P(StoreLease, IsTakenOverForAKeyedMessageToo) {
  const ClaimedMessage lost = claimed(message("order.shipped.v1", "k"));
  enqueue(message("order.shipped.v1", "k"));
  lose_lease(lost.lease.id);
  const ClaimedMessage again = claim_one();
  EXPECT_EQ(again.message_id, lost.message_id);
  EXPECT_TRUE(again.reclaimed);
}

// Guarantee 6: a message that kills its relay counts an attempt each time.
TEST_P(StoreLease, CountsTheAttemptWhenItIsTaken) {
  ClaimedMessage got = claimed();
  EXPECT_EQ(got.attempts, 1);
  for (int attempt = 2; attempt <= 4; ++attempt) {
    lose_lease(got.lease.id);
    got = claim_one();
    EXPECT_EQ(got.attempts, attempt);
  }
}

// What became of the earlier attempt is known: it was lost, and the history says so.
TEST_P(StoreLease, LeavesALineOfHistoryWhenItWasLost) {
  const ClaimedMessage lost = claimed();
  lose_lease(lost.lease.id);
  const auto other = outbox().connect(std::string(kOther));
  claim_one(*other);
  const MessageDetail detail = show(lost.lease.id);
  ASSERT_EQ(detail.attempts.size(), 1U);
  EXPECT_EQ(detail.attempts[0].outcome, "lease_lost");
  EXPECT_EQ(detail.attempts[0].attempt, 1);
  EXPECT_EQ(detail.attempts[0].claim_no, lost.lease.claim_no);
  EXPECT_EQ(detail.attempts[0].claimed_by, "host-a:1:aaaaaaaa");
}

// claim_no rises by one with every claim, whatever became of the claim before.
TEST_P(StoreLease, DrawsAClaimNumberThatIsNeverUsedAgain) {
  ClaimedMessage got = claimed();
  std::int64_t expected = got.lease.claim_no;
  EXPECT_EQ(expected, 1);
  EXPECT_TRUE(settle(release(got.lease)));
  got = claim_one();
  EXPECT_EQ(got.lease.claim_no, ++expected);
  EXPECT_TRUE(settle(retry(got.lease)));
  got = claim_one();
  EXPECT_EQ(got.lease.claim_no, ++expected);
  lose_lease(got.lease.id);
  got = claim_one();
  EXPECT_EQ(got.lease.claim_no, ++expected);
  EXPECT_TRUE(settle(dead(got.lease)));
  EXPECT_EQ(replay(got.lease.id).done, 1);
  EXPECT_EQ(claim_one().lease.claim_no, ++expected);
}

// ---- renew

TEST_P(StoreLease, IsLengthenedByRenew) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(store().renew(std::span(&got.lease, 1), Millis{3'600'000}).empty());
  EXPECT_GT(ahead(*row(got.lease.id).locked_until), Millis{3'500'000});
  lose_lease(got.lease.id);
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreLease, IsNotLengthenedByAnotherRelay) {
  const ClaimedMessage got = claimed();
  const auto other = outbox().connect(std::string(kOther));
  EXPECT_EQ(other->renew(std::span(&got.lease, 1), kLease), std::vector{got.lease});
}

// A stale thread of the same process: the owner's name is right, the claim_no is not.
TEST_P(StoreLease, IsNotLengthenedByAnEarlierClaimOfTheSameRelay) {
  const ClaimedMessage stale = claimed();
  lose_lease(stale.lease.id);
  const ClaimedMessage fresh = claim_one();
  const std::vector<Lease> both = {stale.lease, fresh.lease};
  EXPECT_EQ(store().renew(both, kLease), std::vector{stale.lease});
}

TEST_P(StoreLease, IsNotLengthenedOnceSettled) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(dispatched(got.lease)));
  EXPECT_EQ(store().renew(std::span(&got.lease, 1), kLease), std::vector{got.lease});
}

// A slow keeper comes late, but nobody took the message meanwhile: it is still ours.
TEST_P(StoreLease, IsTakenUpAgainByALateRenewWhenNobodyElseTookIt) {
  const ClaimedMessage got = claimed();
  lose_lease(got.lease.id);
  EXPECT_TRUE(store().renew(std::span(&got.lease, 1), kLease).empty());
  EXPECT_TRUE(claim_all().empty());
}

// After skip and replay the first message of a key runs again; the second one's late renewal must
// not make two of one key run at once.
TEST_P(StoreLease, IsNotTakenUpAgainWhileAnotherOfItsKeyRuns) {
  enqueue_many(2, message("order.shipped.v1", "k"));
  const ClaimedMessage first = claim_one();
  EXPECT_TRUE(settle(dead(first.lease, KeyPolicy::skip)));
  const ClaimedMessage second = claim_one();
  lose_lease(second.lease.id);
  EXPECT_EQ(replay(first.lease.id).done, 1);
  EXPECT_EQ(claim_one().message_id, first.message_id);
  EXPECT_EQ(store().renew(std::span(&second.lease, 1), kLease), std::vector{second.lease});
}

// The same the other way round: both ran out, the later one was taken up again, and then the holder
// of the replayed one comes late.
TEST_P(StoreLease, IsNotTakenUpAgainWhileALaterOneOfItsKeyRuns) {
  enqueue_many(2, message("order.shipped.v1", "k"));
  const ClaimedMessage first = claim_one();
  EXPECT_TRUE(settle(dead(first.lease, KeyPolicy::skip)));
  const ClaimedMessage second = claim_one();
  lose_lease(second.lease.id);
  EXPECT_EQ(replay(first.lease.id).done, 1);
  const ClaimedMessage again = claim_one();
  lose_lease(again.lease.id);
  EXPECT_TRUE(store().renew(std::span(&second.lease, 1), kLease).empty());
  EXPECT_EQ(store().renew(std::span(&again.lease, 1), kLease), std::vector{again.lease});
}

// And when one call would take up both.
TEST_P(StoreLease, IsTakenUpAgainForOneOfAKeyInACall) {
  enqueue_many(2, message("order.shipped.v1", "k"));
  const ClaimedMessage first = claim_one();
  EXPECT_TRUE(settle(dead(first.lease, KeyPolicy::skip)));
  const ClaimedMessage second = claim_one();
  lose_lease(second.lease.id);
  EXPECT_EQ(replay(first.lease.id).done, 1);
  const ClaimedMessage again = claim_one();
  lose_lease(again.lease.id);
  EXPECT_EQ(store().renew(std::vector{again.lease, second.lease}, kLease),
            std::vector{second.lease});
}

TEST_P(StoreLease, TellsEachLostLeaseAmongMany) {
  enqueue_many(6);
  const auto got = claim_all();
  std::vector<Lease> leases;
  for (const ClaimedMessage& message : got) leases.push_back(message.lease);
  EXPECT_TRUE(settle(dispatched(leases[1])));
  EXPECT_TRUE(settle(release(leases[4])));
  leases.push_back({RowId{987'654'321}, 1});
  EXPECT_EQ(store().renew(leases, kLease), (std::vector{leases[1], leases[4], leases[6]}));
}

TEST_P(StoreLease, RenewsNothingWhenGivenNothing) {
  EXPECT_TRUE(store().renew({}, kLease).empty());
}

}  // namespace pillarbox::testing
