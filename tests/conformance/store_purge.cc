// SPDX-License-Identifier: Apache-2.0
// Guarantee 13: retention is bounded and safe.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

constexpr Millis kDay = std::chrono::hours(24);
constexpr PurgeKind kKinds[] = {PurgeKind::dispatched, PurgeKind::tombstones, PurgeKind::dead,
                                PurgeKind::inbox};

}  // namespace

TEST_P(StorePurge, RemovesDispatchedMessagesPastTheirTime) {
  const ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(dispatched(got.lease)));
  EXPECT_EQ(admin().purge(PurgeKind::dispatched, kDay, 100), 0);
  outbox().age(got.lease.id, kDay + Millis{60'000});
  EXPECT_EQ(admin().purge(PurgeKind::dispatched, kDay, 100), 1);
  EXPECT_FALSE(admin().find(got.message_id));
  EXPECT_FALSE(admin().show(got.lease.id, false));
}

// Small batches: never one statement for everything.
TEST_P(StorePurge, RemovesAtMostABatch) {
  enqueue_many(25);
  std::vector<Settlement> done;
  const auto got = claim_all();
  for (const ClaimedMessage& message : got) done.push_back(dispatched(message.lease));
  EXPECT_TRUE(store().settle(done).empty());
  for (const ClaimedMessage& message : got) outbox().age(message.lease.id, 2 * kDay);
  std::int64_t removed = 0;
  int calls = 0;
  for (std::int64_t n = -1; n != 0; ++calls) {
    n = admin().purge(PurgeKind::dispatched, kDay, 10);
    EXPECT_LE(n, 10);
    removed += n;
  }
  EXPECT_EQ(removed, 25);
  EXPECT_GE(calls, 4);
}

// Pitfall: the filter came after the page, so old rows behind a page of others were never removed.
TEST_P(StorePurge, FindsOldRowsBehindManyThatStay) {
  enqueue_many(120);
  admin().brake("type:order.shipped.v1", "ada", "");
  const ClaimedMessage got = claimed(message("email.welcome.v1"));
  EXPECT_TRUE(settle(dispatched(got.lease)));
  outbox().age(got.lease.id, 2 * kDay);
  EXPECT_EQ(admin().purge(PurgeKind::dispatched, kDay, 2), 1);
}

// Whatever kind is purged, with no age at all: live messages stay.
TEST_P(StorePurge, NeverTouchesLiveMessages) {
  const MessageId waiting = enqueue(message());
  const ClaimedMessage held = claim_one();
  const MessageId delayed = [&] {
    NewMessage later = message();
    later.delay = std::chrono::hours(1);
    return enqueue(later);
  }();
  outbox().age(held.lease.id, Millis{1'000});
  for (const PurgeKind kind : kKinds) EXPECT_EQ(admin().purge(kind, Millis{0}, 100), 0);
  EXPECT_EQ(held.message_id, waiting);
  EXPECT_EQ(row(held.lease.id).status, Status::claimed);
  EXPECT_EQ(row(id_of(delayed)).status, Status::pending);
}

// Old dispatched rows go, old dead ones stay until they are asked for.
TEST_P(StorePurge, LeavesDeadMessagesAloneUnlessAskedForThem) {
  const ClaimedMessage got = dead_message();
  outbox().age(got.lease.id, 400 * kDay);
  for (const PurgeKind kind : {PurgeKind::dispatched, PurgeKind::tombstones, PurgeKind::inbox})
    EXPECT_EQ(admin().purge(kind, kDay, 100), 0);
  EXPECT_EQ(row(got.lease.id).status, Status::dead);
}

TEST_P(StorePurge, RemovesOldDeadMessagesWithTheirLetters) {
  const ClaimedMessage got = dead_message();
  const ClaimedMessage young = dead_message();
  outbox().age(got.lease.id, 2 * kDay);
  EXPECT_EQ(admin().purge(PurgeKind::dead, kDay, 100), 1);
  EXPECT_FALSE(admin().find(got.message_id));
  EXPECT_FALSE(admin().show(got.lease.id, false));
  EXPECT_EQ(row(young.lease.id).status, Status::dead);
}

// A dead letter that holds its key is what keeps the order: it is not purged away.
TEST_P(StorePurge, KeepsADeadMessageThatHoldsItsKey) {
  const ClaimedMessage got = dead_message(message("order.shipped.v1", "k"), KeyPolicy::hold);
  enqueue(message("order.shipped.v1", "k"));
  outbox().age(got.lease.id, 2 * kDay);
  EXPECT_EQ(admin().purge(PurgeKind::dead, kDay, 100), 0);
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StorePurge, RemovesOldTombstones) {
  const ClaimedMessage got = dead_message();
  EXPECT_EQ(discard(got.lease.id).done, 1);
  EXPECT_EQ(admin().purge(PurgeKind::tombstones, kDay, 100), 0);
  EXPECT_EQ(admin().purge(PurgeKind::dead, Millis{0}, 100), 0);
  EXPECT_TRUE(
      eventually([&] { return admin().purge(PurgeKind::tombstones, Millis{0}, 100) == 1; }));
  EXPECT_FALSE(admin().show(got.lease.id, false));
}

TEST_P(StorePurge, RemovesOldInboxEntries) {
  const MessageId id = MessageId::make();
  const auto consumer = outbox().producer();
  EXPECT_TRUE(consumer->once("billing", id));
  EXPECT_EQ(admin().purge(PurgeKind::inbox, kDay, 100), 0);
  EXPECT_FALSE(consumer->once("billing", id));
  EXPECT_TRUE(eventually([&] { return admin().purge(PurgeKind::inbox, Millis{0}, 100) == 1; }));
  EXPECT_TRUE(consumer->once("billing", id));
}

// Until it is purged a dispatched message is known: the producer's repeat is absorbed.
TEST_P(StorePurge, ForgetsTheMessageIdWithTheRow) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const ClaimedMessage got = claimed(sent);
  EXPECT_TRUE(settle(dispatched(got.lease)));
  enqueue(sent);
  EXPECT_TRUE(claim_all().empty());
  outbox().age(got.lease.id, 2 * kDay);
  EXPECT_EQ(admin().purge(PurgeKind::dispatched, kDay, 100), 1);
  enqueue(sent);
  EXPECT_NE(claim_one().lease.id, got.lease.id) << "ids are never used again";
}

TEST_P(StorePurge, RemovesTheHistoryWithTheMessage) {
  ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease)));
  got = claim_one();
  EXPECT_TRUE(settle(dispatched(got.lease)));
  EXPECT_EQ(show(got.lease.id).attempts.size(), 1U);
  outbox().age(got.lease.id, 2 * kDay);
  EXPECT_EQ(admin().purge(PurgeKind::dispatched, kDay, 100), 1);
  EXPECT_FALSE(admin().show(got.lease.id, false));
}

}  // namespace pillarbox::testing
