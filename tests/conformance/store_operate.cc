// SPDX-License-Identifier: Apache-2.0
// What an operator does by hand: discard and release. (Replay is in store_dead.cc.)
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreOperate, DiscardsADeadMessageAndKeepsATombstone) {
  const ClaimedMessage got = dead_message();
  EXPECT_EQ(discard(got.lease.id).done, 1);
  EXPECT_FALSE(admin().find(got.message_id));
  EXPECT_TRUE(admin().dead_letters({}, {}).empty()) << "tombstones are no dead letters any more";
  const auto left = admin().show(got.lease.id, true);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->row.view, "discarded");
  EXPECT_EQ(left->payload, "");
  ASSERT_EQ(left->dead_letters.size(), 1U);
  EXPECT_TRUE(left->dead_letters[0].discarded_at);
  EXPECT_EQ(left->dead_letters[0].discarded_by, "ada");
  EXPECT_EQ(left->dead_letters[0].discard_reason, "the order was cancelled");
  EXPECT_EQ(left->dead_letters[0].message_id, got.message_id);
}

TEST_P(StoreOperate, DiscardsAMessageThatStillWaits) {
  const MessageId id = enqueue(message());
  const RowId at = id_of(id);
  EXPECT_EQ(discard(at).done, 1);
  EXPECT_TRUE(claim_all().empty());
  const MessageDetail left = show(at);
  ASSERT_EQ(left.dead_letters.size(), 1U);
  EXPECT_TRUE(left.dead_letters[0].discarded_at);
  EXPECT_EQ(left.dead_letters[0].code, "discarded");
}

TEST_P(StoreOperate, LetsTheKeyGoOnPastADiscardedHead) {
  const MessageId first = enqueue(message("order.shipped.v1", "k"));
  const MessageId second = enqueue(message("order.shipped.v1", "k"));
  EXPECT_EQ(discard(id_of(first)).done, 1);
  EXPECT_EQ(claim_one().message_id, second);
}

// Claimed or done: it is too late to discard it.
TEST_P(StoreOperate, DoesNotDiscardWhatIsClaimedOrDispatched) {
  const ClaimedMessage done = claimed();
  EXPECT_TRUE(settle(dispatched(done.lease)));
  const ClaimedMessage held = claimed();
  EXPECT_EQ(discard(done.lease.id).skipped, 1);
  EXPECT_EQ(discard(held.lease.id).skipped, 1);
  EXPECT_TRUE(settle(dispatched(held.lease)));
}

// The list is old: the message was claimed and put back since.
TEST_P(StoreOperate, DoesNotDiscardWhatHasMovedOn) {
  const MessageId id = enqueue(message());
  const ActTarget listed = target(id_of(id));
  EXPECT_TRUE(settle(retry(claim_one().lease)));
  EXPECT_EQ(admin().discard(std::span(&listed, 1), "ada", "").skipped, 1);
  EXPECT_EQ(claim_one().message_id, id);
}

// A discarded message_id is forgotten: the producer may say it again.
TEST_P(StoreOperate, ForgetsTheMessageIdOfADiscardedMessage) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const ClaimedMessage got = dead_message(sent);
  EXPECT_EQ(discard(got.lease.id).done, 1);
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  const ClaimedMessage again = claim_one();
  EXPECT_NE(again.lease.id, got.lease.id);
  EXPECT_EQ(again.life, 0);
}

// ---- release

// A relay is gone for good and its lease is long: an operator takes the message from it.
TEST_P(StoreOperate, ReleasesAMessageFromItsHolder) {
  enqueue(message());
  const auto got = claim_all({.lease = std::chrono::hours(5)});
  ASSERT_EQ(got.size(), 1U);
  const ActTarget one{got[0].lease.id, got[0].lease.claim_no};
  EXPECT_EQ(admin().release(std::span(&one, 1), "ada", "host-a is gone").done, 1);
  const MessageRow freed = row(one.id);
  EXPECT_EQ(freed.status, Status::pending);
  EXPECT_EQ(freed.claimed_by, "");
  EXPECT_FALSE(freed.locked_until);
  const ClaimedMessage again = claim_one();
  EXPECT_EQ(again.message_id, got[0].message_id);
  EXPECT_EQ(again.attempts, 2) << "the attempt stays counted";
  EXPECT_FALSE(again.reclaimed);
  EXPECT_EQ(outcomes(again.lease.id), std::vector<std::string>{"released_by_operator"});
}

// The holder was only slow: what it says afterwards changes nothing.
TEST_P(StoreOperate, DoesNotHearTheOldHolderAfterARelease) {
  const ClaimedMessage got = claimed();
  const ActTarget one{got.lease.id, got.lease.claim_no};
  EXPECT_EQ(admin().release(std::span(&one, 1), "ada", "").done, 1);
  EXPECT_FALSE(settle(dispatched(got.lease)));
  EXPECT_EQ(store().renew(std::span(&got.lease, 1), kLease).size(), 1U);
  const ClaimedMessage fresh = claim_one();
  EXPECT_FALSE(settle(dispatched(got.lease)));
  EXPECT_TRUE(settle(dispatched(fresh.lease)));
}

TEST_P(StoreOperate, ReleasesOnlyWhatIsClaimedUnderThatNumber) {
  const ClaimedMessage stale = claimed();
  EXPECT_TRUE(settle(retry(stale.lease)));
  const ClaimedMessage fresh = claim_one();
  const ClaimedMessage gone = dead_message();
  const std::vector<ActTarget> targets = {{stale.lease.id, stale.lease.claim_no},
                                          {gone.lease.id, gone.lease.claim_no}};
  const ActResult result = admin().release(targets, "ada", "");
  EXPECT_EQ(result.done, 0);
  EXPECT_EQ(result.skipped, 2);
  EXPECT_EQ(row(fresh.lease.id).status, Status::claimed);
}

TEST_P(StoreOperate, DoesNothingWhenGivenNothing) {
  EXPECT_EQ(admin().replay({}, "ada", "").done, 0);
  EXPECT_EQ(admin().discard({}, "ada", "").done, 0);
  EXPECT_EQ(admin().release({}, "ada", "").done, 0);
}

TEST_P(StoreOperate, EnqueuesAndKnowsARepeat) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  EXPECT_EQ(admin().enqueue(sent), *sent.message_id);
  EXPECT_EQ(admin().enqueue(sent), *sent.message_id);
  EXPECT_EQ(claim_one().message_id, *sent.message_id);
}

TEST_P(StoreOperate, ExaminesTheOutboxWithoutFindingAnError) {
  enqueue(message());
  for (const Finding& finding : admin().examine())
    EXPECT_NE(finding.level, Finding::Level::error) << finding.subject << ": " << finding.text;
}

}  // namespace pillarbox::testing
