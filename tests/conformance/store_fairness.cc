// SPDX-License-Identifier: Apache-2.0
// Nobody waits for ever behind a mass of others.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

std::size_t keyed_among(const std::vector<ClaimedMessage>& messages) {
  std::size_t count = 0;
  for (const ClaimedMessage& message : messages) count += message.ordering_key.empty() ? 0 : 1;
  return count;
}

}  // namespace

// A backlog without keys must not keep a handful of keyed messages waiting until it is done.
TEST_P(StoreFairness, LetsKeyedMessagesPassALargeBacklogWithoutKeys) {
  enqueue_many(600);
  for (int i = 0; i < 10; ++i) enqueue(message("order.shipped.v1", "key-" + std::to_string(i)));
  std::size_t seen = 0;
  for (int i = 0; i < 12 && seen < 10; ++i)
    seen += keyed_among(store().claim({.count_max = 20}).messages);
  EXPECT_EQ(seen, 10U);
}

// And the other way round: very many keys.
TEST_P(StoreFairness, LetsMessagesWithoutKeysPassVeryManyKeys) {
  for (int i = 0; i < 400; ++i) enqueue(message("order.shipped.v1", "key-" + std::to_string(i)));
  enqueue_many(10);
  std::size_t seen = 0;
  for (int i = 0; i < 14 && seen < 10; ++i) {
    const auto got = store().claim({.count_max = 20}).messages;
    seen += got.size() - keyed_among(got);
  }
  EXPECT_EQ(seen, 10U);
}

// The same when a relay takes them one by one.
TEST_P(StoreFairness, TakesBothKindsInTurnWhenItTakesOneAtATime) {
  enqueue_many(50);
  for (int i = 0; i < 50; ++i) enqueue(message("order.shipped.v1", "key-" + std::to_string(i)));
  std::size_t keyed = 0;
  std::size_t all = 0;
  for (int i = 0; i < 40; ++i) {
    const auto got = store().claim({.count_max = 1}).messages;
    keyed += keyed_among(got);
    all += got.size();
  }
  EXPECT_GE(all, 20U);
  EXPECT_GE(keyed, 5U);
  EXPECT_GE(all - keyed, 5U);
}

// Thousands wait behind one key's head: each quiet key still gets its turn at once.
TEST_P(StoreFairness, GivesQuietKeysTheirTurnBesideAHotOne) {
  enqueue_many(1'000, message("order.shipped.v1", "hot"));
  for (int i = 0; i < 20; ++i) enqueue(message("order.shipped.v1", "quiet-" + std::to_string(i)));
  const auto got = claim_all({.count_max = 30});
  EXPECT_EQ(got.size(), 21U);
}

// Keys are visited round and round: a busy key does not get two turns before others got one.
TEST_P(StoreFairness, VisitsEveryKeyBeforeItComesBack) {
  std::vector<std::string> keys;
  for (int i = 0; i < 30; ++i) keys.push_back("key-" + std::to_string(i));
  const auto producer = outbox().producer();
  producer->begin();
  for (int round = 0; round < 20; ++round) {
    for (const std::string& key : keys) producer->enqueue(message("order.shipped.v1", key));
  }
  producer->commit();
  std::set<std::string> seen;
  for (int i = 0; i < 9 && seen.size() < keys.size(); ++i) {
    std::vector<Settlement> done;
    for (const ClaimedMessage& got : store().claim({.count_max = 10}).messages) {
      seen.insert(got.ordering_key);
      done.push_back(dispatched(got.lease));
    }
    EXPECT_TRUE(store().settle(done).empty());
  }
  EXPECT_EQ(seen.size(), keys.size());
}

// Pitfall: a full batch of failures, taken again and again without a pause.
TEST_P(StoreFairness, DoesNotComeBackToWhatWaitsForItsRetry) {
  enqueue_many(50);
  std::vector<Settlement> failed;
  for (const ClaimedMessage& got : claim_all({.count_max = 50}))
    failed.push_back(retry(got.lease, Millis{600'000}));
  EXPECT_TRUE(store().settle(failed).empty());
  const MessageId fresh = enqueue(message());
  EXPECT_EQ(claim_one().message_id, fresh);
}

// Messages of types that are backed off fill the front of the queue.
TEST_P(StoreFairness, PassesAMassOfExcludedKeyedMessages) {
  for (int i = 0; i < 200; ++i) enqueue(message("email.welcome.v1", "key-" + std::to_string(i)));
  const MessageId order = enqueue(message("order.shipped.v1", "zz"));
  const std::vector<std::string> excluded = {"email.welcome.v1"};
  EXPECT_EQ(ids(claim_all({.count_max = 10, .excluded_types = excluded})), std::vector{order});
}

}  // namespace pillarbox::testing
