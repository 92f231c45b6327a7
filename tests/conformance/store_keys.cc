// SPDX-License-Identifier: Apache-2.0
// Guarantee 8: order per key, and what a dead message does to its key.
#include <future>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

constexpr const char* kKey = "order-17";

NewMessage keyed(std::string payload, std::string key = kKey) {
  NewMessage message;
  message.job_type = "order.changed.v1";
  message.payload = std::move(payload);
  message.ordering_key = std::move(key);
  return message;
}

}  // namespace

TEST_P(StoreKeys, GoOneAtATimeInOrder) {
  for (const char* payload : {"1", "2", "3", "4"}) enqueue(keyed(payload));
  for (const char* payload : {"1", "2", "3", "4"}) {
    const ClaimedMessage got = claim_one();
    EXPECT_EQ(got.payload, payload);
    EXPECT_TRUE(settle(dispatched(got.lease)));
  }
}

TEST_P(StoreKeys, GoAtOnceWhenTheyDiffer) {
  for (int i = 0; i < 20; ++i) enqueue(keyed("1", "key-" + std::to_string(i)));
  EXPECT_EQ(claim_all().size(), 20U);
}

// Pitfall: 1, 2, 3 with one key, and the consumer saw 2, 3, 1.
TEST_P(StoreKeys, WaitWhileTheFirstIsRetried) {
  const MessageId first = enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(retry(got.lease, Millis{600'000})));
  EXPECT_TRUE(claim_all().empty());
  outbox().age(id_of(first), Millis{601'000});
  EXPECT_EQ(claim_one().payload, "1");
}

TEST_P(StoreKeys, WaitWhileTheFirstIsReleasedUntilLater) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  EXPECT_TRUE(settle(release(claim_one().lease, Millis{600'000})));
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreKeys, WaitBehindADelayedFirst) {
  NewMessage delayed = keyed("1");
  delayed.delay = std::chrono::hours(1);
  enqueue(delayed);
  enqueue(keyed("2"));
  EXPECT_TRUE(claim_all().empty());
}

// One message that retries holds back its own key and nothing else.
TEST_P(StoreKeys, DoNotHoldOthersBack) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  EXPECT_TRUE(settle(retry(claim_one().lease, Millis{600'000})));
  enqueue(keyed("18", "order-18"));
  enqueue(message());
  EXPECT_EQ(claim_all().size(), 2U);
}

// Keys are compared as they are, byte for byte.
TEST_P(StoreKeys, AreToldApartByCaseAndTrailingSpace) {
  enqueue(keyed("1", "key"));
  enqueue(keyed("2", "KEY"));
  enqueue(keyed("3", "key "));
  EXPECT_EQ(claim_all().size(), 3U);
}

// Guarantee 8: two transactions on one key are open at once; the second waits for the first, so ids
// and commits have one order.
TEST_P(StoreKeys, LeaveInTheOrderOfTheirCommits) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: the order of commits is the order of ids anyway";
  const auto first = outbox().producer();
  const auto second = outbox().producer();
  first->begin();
  first->enqueue(keyed("1"));
  auto late = std::async(std::launch::async, [&] {
    second->begin();
    second->enqueue(keyed("3"));
    second->commit();
  });
  EXPECT_EQ(late.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  first->enqueue(keyed("2"));
  first->commit();
  late.get();
  for (const char* payload : {"1", "2", "3"}) {
    const ClaimedMessage got = claim_one();
    EXPECT_EQ(got.payload, payload);
    EXPECT_TRUE(settle(dispatched(got.lease)));
  }
}

// A transaction on one key is open for long; other keys are enqueued and delivered meanwhile.
TEST_P(StoreKeys, OfOtherTransactionsGoOnMeanwhile) {
  if (!outbox().capabilities().concurrent_producers)
    GTEST_SKIP() << "one writer at a time: nobody else writes while a transaction is open";
  const auto slow = outbox().producer();
  slow->begin();
  slow->enqueue(keyed("1"));
  const MessageId other = enqueue(keyed("18", "order-18"));
  EXPECT_EQ(claim_one().message_id, other);
  slow->commit();
  EXPECT_EQ(claim_one().payload, "1");
}

// ---- hold, skip, park

TEST_P(StoreKeys, AreHeldByADeadMessageUnderHold) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold)));
  enqueue(keyed("3"));
  EXPECT_TRUE(claim_all().empty());
  EXPECT_TRUE(show(got.lease.id).dead_letters.at(0).holds_key);
}

TEST_P(StoreKeys, GoOnPastADeadMessageUnderSkip) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::skip)));
  EXPECT_EQ(claim_one().payload, "2");
  EXPECT_FALSE(show(got.lease.id).dead_letters.at(0).holds_key);
}

TEST_P(StoreKeys, AllDieInOrderUnderPark) {
  const MessageId first = enqueue(keyed("1"));
  const MessageId second = enqueue(keyed("2"));
  const MessageId third = enqueue(keyed("3"));
  enqueue(keyed("18", "order-18"));
  ClaimedMessage got;
  for (ClaimedMessage& one : claim_all()) {
    if (one.message_id == first) got = std::move(one);
  }
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::park)));
  for (const MessageId id : {second, third}) {
    const MessageDetail parked = show(id_of(id));
    EXPECT_EQ(parked.row.status, Status::dead);
    EXPECT_EQ(parked.row.attempts, 0);
    ASSERT_EQ(parked.dead_letters.size(), 1U);
    EXPECT_EQ(parked.dead_letters[0].reason, DeadReason::parked);
    EXPECT_TRUE(parked.dead_letters[0].holds_key);
  }
  EXPECT_EQ(show(id_of(first)).dead_letters.at(0).reason, DeadReason::permanent);
  EXPECT_EQ(count({.statuses = {Status::dead}}), 3U);
}

// Later ones wait as with hold.
TEST_P(StoreKeys, WaitBehindAParkedKey) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  EXPECT_TRUE(settle(dead(claim_one().lease, KeyPolicy::park)));
  enqueue(keyed("3"));
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreKeys, HaveNoMeaningForADeadMessageWithoutOne) {
  for (const KeyPolicy policy : {KeyPolicy::hold, KeyPolicy::skip, KeyPolicy::park}) {
    const ClaimedMessage got = dead_message(message(), policy);
    EXPECT_FALSE(show(got.lease.id).dead_letters.at(0).holds_key);
    EXPECT_TRUE(settle(dispatched(claimed(message()).lease)));
  }
}

TEST_P(StoreKeys, GoOnWithTheReplayedMessageFirst) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold)));
  EXPECT_EQ(replay(got.lease.id).done, 1);
  for (const char* payload : {"1", "2"}) {
    const ClaimedMessage next = claim_one();
    EXPECT_EQ(next.payload, payload);
    EXPECT_TRUE(settle(dispatched(next.lease)));
  }
}

TEST_P(StoreKeys, GoOnOnceTheDeadMessageIsDiscarded) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold)));
  EXPECT_EQ(discard(got.lease.id).done, 1);
  EXPECT_EQ(claim_one().payload, "2");
}

// An operator replays a parked key one by one: a dead letter holds back what comes after it, never
// what came before.
TEST_P(StoreKeys, AreReplayedOneByOneFromTheFirst) {
  const MessageId first = enqueue(keyed("1"));
  const MessageId second = enqueue(keyed("2"));
  EXPECT_TRUE(settle(dead(claim_one().lease, KeyPolicy::park)));
  EXPECT_EQ(replay(id_of(first)).done, 1);
  const ClaimedMessage again = claim_one();
  EXPECT_EQ(again.message_id, first);
  EXPECT_TRUE(settle(dispatched(again.lease)));
  EXPECT_TRUE(claim_all().empty());
  EXPECT_EQ(replay(id_of(second)).done, 1);
  EXPECT_EQ(claim_one().message_id, second);
}

// Or all at once: they come in their order, whatever the order of the list.
TEST_P(StoreKeys, KeepTheirOrderWhenAllAreReplayed) {
  std::vector<ActTarget> targets;
  for (const char* payload : {"1", "2", "3"}) enqueue(keyed(payload));
  EXPECT_TRUE(settle(dead(claim_one().lease, KeyPolicy::park)));
  for (const DeadLetter& letter : admin().dead_letters({}, {}))
    targets.push_back(target(letter.id));
  EXPECT_EQ(admin().replay(targets, "ada", "").done, 3);
  for (const char* payload : {"1", "2", "3"}) {
    const ClaimedMessage next = claim_one();
    EXPECT_EQ(next.payload, payload);
    EXPECT_TRUE(settle(dispatched(next.lease)));
  }
}

// One of a parked key is given up: the others keep their order, and still wait for an operator.
TEST_P(StoreKeys, KeepWaitingWhenOneOfAParkedKeyIsDiscarded) {
  const MessageId first = enqueue(keyed("1"));
  const MessageId second = enqueue(keyed("2"));
  EXPECT_TRUE(settle(dead(claim_one().lease, KeyPolicy::park)));
  enqueue(keyed("3"));
  EXPECT_EQ(discard(id_of(first)).done, 1);
  EXPECT_TRUE(claim_all().empty());
  EXPECT_EQ(discard(id_of(second)).done, 1);
  EXPECT_EQ(claim_one().payload, "3");
}

// After skip, a later message is in flight when the dead one is replayed: never two at once.
TEST_P(StoreKeys, DoNotRunTwoAtOnceAfterAReplay) {
  enqueue(keyed("1"));
  enqueue(keyed("2"));
  const ClaimedMessage first = claim_one();
  EXPECT_TRUE(settle(dead(first.lease, KeyPolicy::skip)));
  const ClaimedMessage second = claim_one();
  EXPECT_EQ(replay(first.lease.id).done, 1);
  EXPECT_TRUE(claim_all().empty());
  EXPECT_TRUE(settle(dispatched(second.lease)));
  EXPECT_EQ(claim_one().payload, "1");
}

}  // namespace pillarbox::testing
