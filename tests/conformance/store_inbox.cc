// SPDX-License-Identifier: Apache-2.0
// The inbox: one effect for many deliveries.
#include <future>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreInbox, SaysYesOnlyOnce) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  EXPECT_TRUE(consumer->once("billing", id));
  EXPECT_FALSE(consumer->once("billing", id));
  EXPECT_TRUE(consumer->once("billing", MessageId::make()));
}

TEST_P(StoreInbox, KeepsConsumersApart) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  EXPECT_TRUE(consumer->once("billing", id));
  EXPECT_TRUE(consumer->once("Billing", id));
  EXPECT_TRUE(consumer->once("mail", id));
}

TEST_P(StoreInbox, RemembersForOtherSessions) {
  const MessageId id = MessageId::make();
  EXPECT_TRUE(outbox().producer()->once("billing", id));
  EXPECT_FALSE(outbox().producer()->once("billing", id));
}

// The effect and the memory of it are one transaction.
TEST_P(StoreInbox, RemembersWhatWasCommitted) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  consumer->begin();
  EXPECT_TRUE(consumer->once("billing", id));
  EXPECT_FALSE(consumer->once("billing", id));
  consumer->commit();
  EXPECT_FALSE(consumer->once("billing", id));
}

TEST_P(StoreInbox, ForgetsWhatWasRolledBack) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  consumer->begin();
  EXPECT_TRUE(consumer->once("billing", id));
  consumer->rollback();
  EXPECT_TRUE(consumer->once("billing", id));
}

TEST_P(StoreInbox, ForgetsWhatASavepointRolledBack) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  consumer->begin();
  consumer->savepoint("effect");
  EXPECT_TRUE(consumer->once("billing", id));
  consumer->rollback_to("effect");
  EXPECT_TRUE(consumer->once("billing", id));
  consumer->commit();
  EXPECT_FALSE(consumer->once("billing", id));
}

// A handler answers a message with a message: both or neither.
TEST_P(StoreInbox, GoesWithAnEnqueueInOneTransaction) {
  const auto consumer = outbox().producer();
  const MessageId id = MessageId::make();
  consumer->begin();
  EXPECT_TRUE(consumer->once("billing", id));
  consumer->enqueue(message("invoice.made.v1"));
  consumer->rollback();
  EXPECT_TRUE(claim_all().empty());
  consumer->begin();
  EXPECT_TRUE(consumer->once("billing", id));
  consumer->enqueue(message("invoice.made.v1"));
  consumer->commit();
  EXPECT_EQ(claim_one().job_type, "invoice.made.v1");
}

// Two deliveries of one message are handled at once: one waits for the other's transaction.
TEST_P(StoreInbox, SaysYesToOneOfTwoAtOnce) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: the second begins when the first has ended";
  const MessageId id = MessageId::make();
  const auto first = outbox().producer();
  const auto second = outbox().producer();
  first->begin();
  EXPECT_TRUE(first->once("billing", id));
  auto twin = std::async(std::launch::async, [&] {
    second->begin();
    const bool is_first = second->once("billing", id);
    second->commit();
    return is_first;
  });
  EXPECT_EQ(twin.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first->commit();
  EXPECT_FALSE(twin.get());
}

TEST_P(StoreInbox, RefusesAConsumerWithoutAName) {
  const auto consumer = outbox().producer();
  for (const std::string& name : {std::string(), std::string(101, 'x')}) {
    const Error error =
        error_of([&] { static_cast<void>(consumer->once(name, MessageId::make())); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_input) << error.what();
  }
}

}  // namespace pillarbox::testing
