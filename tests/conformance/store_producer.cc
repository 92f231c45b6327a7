// SPDX-License-Identifier: Apache-2.0
// Guarantees 1 and 9: a message exists exactly when its transaction committed, and once.
#include <future>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreProducer, MakesAMessageByCommitting) {
  const auto producer = outbox().producer();
  producer->begin();
  const MessageId id = producer->enqueue(message());
  producer->commit();
  EXPECT_EQ(claim_one().message_id, id);
}

TEST_P(StoreProducer, MakesNoneByRollingBack) {
  const auto producer = outbox().producer();
  producer->begin();
  const MessageId id = producer->enqueue(message());
  producer->rollback();
  EXPECT_TRUE(claim_all().empty());
  EXPECT_FALSE(admin().find(id));
}

TEST_P(StoreProducer, MakesNoneBeforeItCommits) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: a claim waits for the open transaction";
  const auto producer = outbox().producer();
  producer->begin();
  producer->enqueue(message());
  EXPECT_TRUE(claim_all().empty());
  producer->commit();
  EXPECT_EQ(claim_all().size(), 1U);
}

// A session that dies with its transaction open leaves nothing behind.
TEST_P(StoreProducer, MakesNoneWhenItsSessionDies) {
  auto producer = outbox().producer();
  producer->begin();
  producer->enqueue(message("order.shipped.v1", "k"));
  producer.reset();
  const MessageId id = enqueue(message("order.shipped.v1", "k"));
  EXPECT_EQ(claim_one().message_id, id);
}

// Pitfall: an inner savepoint was rolled back, and its message was sent all the same.
TEST_P(StoreProducer, MakesNoneOfWhatASavepointRolledBack) {
  const auto producer = outbox().producer();
  producer->begin();
  const MessageId before = producer->enqueue(message());
  producer->savepoint("inner");
  producer->enqueue(message());
  producer->rollback_to("inner");
  const MessageId after = producer->enqueue(message());
  producer->commit();
  EXPECT_EQ(ids(claim_all()), (std::vector{before, after}));
}

TEST_P(StoreProducer, ObeysNestedSavepoints) {
  const auto producer = outbox().producer();
  std::set<MessageId> kept;
  producer->begin();
  kept.insert(producer->enqueue(message()));
  producer->savepoint("a");
  kept.insert(producer->enqueue(message()));
  producer->savepoint("b");
  producer->enqueue(message());
  producer->savepoint("c");
  producer->enqueue(message());
  producer->rollback_to("b");
  kept.insert(producer->enqueue(message()));
  producer->commit();
  EXPECT_EQ(as_set(ids(claim_all())), kept);
}

// The same message_id twice is one message, and the caller gets the same id.
TEST_P(StoreProducer, MayRepeatItself) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_EQ(claim_all().size(), 1U);
}

TEST_P(StoreProducer, ChangesNothingByRepeatingItselfWithOtherContent) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  enqueue(sent);
  NewMessage other = message("email.welcome.v1", "k");
  other.message_id = sent.message_id;
  other.payload = "2";
  EXPECT_EQ(enqueue(other), *sent.message_id);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.ordering_key, "");
}

TEST_P(StoreProducer, MayRepeatItselfInOneTransaction) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const auto producer = outbox().producer();
  producer->begin();
  EXPECT_EQ(producer->enqueue(sent), *sent.message_id);
  EXPECT_EQ(producer->enqueue(sent), *sent.message_id);
  const MessageId other = producer->enqueue(message());
  producer->commit();
  EXPECT_EQ(ids(claim_all()), (std::vector{*sent.message_id, other}));
}

// Repeating does not doom the transaction, and does not make the message when that one rolls back.
TEST_P(StoreProducer, MayRepeatItselfAfterARollback) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const auto producer = outbox().producer();
  producer->begin();
  producer->enqueue(sent);
  producer->rollback();
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_EQ(claim_one().message_id, *sent.message_id);
}

TEST_P(StoreProducer, MayRepeatItselfAfterASavepointWasRolledBack) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const auto producer = outbox().producer();
  producer->begin();
  producer->savepoint("s");
  producer->enqueue(sent);
  producer->rollback_to("s");
  EXPECT_EQ(producer->enqueue(sent), *sent.message_id);
  producer->commit();
  EXPECT_EQ(claim_one().message_id, *sent.message_id);
}

// Whatever became of the message meanwhile: claimed, dispatched or dead, it is known.
TEST_P(StoreProducer, MayRepeatItselfInEveryStateOfTheMessage) {
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  const ClaimedMessage got = claimed(sent);
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_TRUE(settle(dead(got.lease)));
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_EQ(replay(got.lease.id).done, 1);
  const ClaimedMessage again = claim_one();
  EXPECT_TRUE(settle(dispatched(again.lease)));
  EXPECT_EQ(enqueue(sent), *sent.message_id);
  EXPECT_TRUE(claim_all().empty());
}

// Made here when absent: distinct, and version 7.
TEST_P(StoreProducer, GetsAMessageIdOfItsOwnWhenItGivesNone) {
  std::set<MessageId> seen;
  for (int i = 0; i < 50; ++i) seen.insert(enqueue(message()));
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ(seen.begin()->to_string()[14], '7');
}

// Pitfall: ids are drawn at insert and seen at commit. A reader that remembers the highest one
// loses the late one for ever.
TEST_P(StoreProducer, IsNotForgottenWhenItCommitsLate) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: nobody commits between another's insert and commit";
  const auto slow = outbox().producer();
  slow->begin();
  const MessageId late = slow->enqueue(message());
  const MessageId early = enqueue(message());
  const ClaimedMessage first = claim_one();
  EXPECT_EQ(first.message_id, early);
  EXPECT_TRUE(settle(dispatched(first.lease)));
  enqueue_many(20);
  EXPECT_EQ(claim_all().size(), 20U);
  slow->commit();
  EXPECT_EQ(claim_one().message_id, late);
}

// Two producers race on one message_id: the second waits for the first, and both go on.
TEST_P(StoreProducer, WaitsForATwinThatHasNotCommitted) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: the second begins when the first has ended";
  NewMessage sent = message();
  sent.message_id = MessageId::make();
  for (const bool first_commits : {true, false}) {
    const auto first = outbox().producer();
    const auto second = outbox().producer();
    first->begin();
    first->enqueue(sent);
    auto twin = std::async(std::launch::async, [&] {
      second->begin();
      const MessageId id = second->enqueue(sent);
      second->commit();
      return id;
    });
    EXPECT_EQ(twin.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    if (first_commits) {
      first->commit();
    } else {
      first->rollback();
    }
    EXPECT_EQ(twin.get(), *sent.message_id);
    EXPECT_TRUE(settle(dispatched(claim_one().lease)));
    sent.message_id = MessageId::make();
  }
}

// Progress is per row: a transaction of very many messages is no single unit to a relay.
TEST_P(StoreProducer, MayWriteManyMessagesInOneTransaction) {
  enqueue_many(3'000);
  EXPECT_LE(store().claim({.count_max = 100}).messages.size(), 100U);
  EXPECT_GE(claim_all({.count_max = 500}).size(), 2'900U);
}

}  // namespace pillarbox::testing
