// SPDX-License-Identifier: Apache-2.0
// Many at once: relays and producers on threads and sessions of their own.
#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <thread>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

std::string relay_name(int i) { return "host-" + std::to_string(i) + ":1:nnnnnnnn"; }

}  // namespace

// Guarantee 5 with eight relays: what they claim is disjoint and complete.
TEST_P(StoreThreads, ClaimDisjointMessagesAndAllOfThem) {
  std::vector<MessageId> sent = enqueue_many(1'800);
  const auto producer = outbox().producer();
  producer->begin();
  for (int i = 0; i < 200; ++i)
    sent.push_back(producer->enqueue(message("order.shipped.v1", "key-" + std::to_string(i))));
  producer->commit();

  std::vector<std::future<std::vector<ClaimedMessage>>> relays;
  for (int i = 0; i < 8; ++i) {
    relays.push_back(std::async(std::launch::async, [this, store = std::shared_ptr<Store>(
                                                               outbox().connect(relay_name(i)))] {
      return claim_all(*store, {.count_max = 50, .lease = std::chrono::hours(1)});
    }));
  }
  std::vector<MessageId> got;
  for (auto& relay : relays) {
    for (const ClaimedMessage& message : relay.get()) {
      EXPECT_EQ(message.attempts, 1);
      got.push_back(message.message_id);
    }
  }
  // A claim that met others everywhere may have ended early; nothing is lost by that.
  for (const ClaimedMessage& message : claim_all()) got.push_back(message.message_id);
  EXPECT_EQ(got.size(), 2'000U);
  EXPECT_EQ(as_set(got), as_set(sent));
}

// Many relays take over the same expired leases: each message goes to one of them.
TEST_P(StoreThreads, TakeOverEachLostLeaseOnce) {
  enqueue_many(40);
  for (const ClaimedMessage& lost : claim_all()) lose_lease(lost.lease.id);
  std::vector<std::future<std::vector<ClaimedMessage>>> relays;
  for (int i = 0; i < 4; ++i) {
    relays.push_back(std::async(std::launch::async, [this, store = std::shared_ptr<Store>(
                                                               outbox().connect(relay_name(i)))] {
      return claim_all(*store, {.count_max = 7, .lease = std::chrono::hours(1)});
    }));
  }
  std::vector<MessageId> got;
  for (auto& relay : relays) {
    for (const ClaimedMessage& message : relay.get()) {
      EXPECT_TRUE(message.reclaimed);
      EXPECT_EQ(message.attempts, 2);
      got.push_back(message.message_id);
    }
  }
  for (const ClaimedMessage& message : claim_all()) got.push_back(message.message_id);
  EXPECT_EQ(got.size(), 40U);
  EXPECT_EQ(as_set(got).size(), 40U);
}

// Guarantee 8 with many relays: one key, every relay wants it, the order holds.
TEST_P(StoreThreads, KeepTheOrderOfAKeyBetweenThem) {
  enqueue_many(40, message("order.shipped.v1", "k"));
  std::mutex mutex;
  std::vector<std::string> delivered;  // guarded by mutex
  std::vector<std::future<void>> relays;
  for (int i = 0; i < 4; ++i) {
    relays.push_back(std::async(
        std::launch::async, [&, store = std::shared_ptr<Store>(outbox().connect(relay_name(i)))] {
          EXPECT_TRUE(eventually([&] {
            for (const ClaimedMessage& got :
                 store->claim({.count_max = 5, .sweep = true}).messages) {
              {
                const std::lock_guard lock(mutex);
                delivered.push_back(got.payload);
              }
              EXPECT_TRUE(settle(*store, dispatched(got.lease)));
            }
            const std::lock_guard lock(mutex);
            return delivered.size() >= 40;
          }));
        }));
  }
  for (auto& relay : relays) relay.get();
  ASSERT_EQ(delivered.size(), 40U);
  for (std::size_t i = 0; i < delivered.size(); ++i) EXPECT_EQ(delivered[i], std::to_string(i));
}

// Guarantee 9: two producers enqueue one message_id at the same moment.
TEST_P(StoreThreads, MakeOneMessageOfOneMessageId) {
  const auto first = outbox().producer();
  const auto second = outbox().producer();
  for (int round = 0; round < 20; ++round) {
    NewMessage sent = message();
    sent.message_id = MessageId::make();
    auto twin = std::async(std::launch::async, [&] { return second->enqueue(sent); });
    EXPECT_EQ(first->enqueue(sent), *sent.message_id);
    EXPECT_EQ(twin.get(), *sent.message_id);
  }
  EXPECT_EQ(claim_all().size(), 20U);
}

// Pitfall: random writers, a third of them roll back, relays at work all the time. What is
// delivered is what was committed.
TEST_P(StoreThreads, DeliverExactlyWhatWasCommitted) {
  const int writers = outbox().capabilities().concurrent_producers ? 3 : 1;
  std::vector<std::future<std::vector<MessageId>>> producers;
  for (int i = 0; i < writers; ++i) {
    producers.push_back(std::async(
        std::launch::async, [i, session = std::shared_ptr<ProducerSession>(outbox().producer())] {
          std::mt19937 chance(static_cast<unsigned>(i) + 1U);
          std::vector<MessageId> committed;
          for (int transaction = 0; transaction < 80; ++transaction) {
            std::vector<MessageId> written;
            session->begin();
            for (unsigned n = chance() % 4U + 1U; n > 0; --n) {
              // One key a transaction at most: no two can wait for each other.
              const bool keyed = n == 1 && chance() % 2U == 0;
              written.push_back(session->enqueue(message(
                  "order.shipped.v1", keyed ? "key-" + std::to_string(chance() % 5U) : "")));
            }
            if (chance() % 3U == 0) {
              session->rollback();
            } else {
              session->commit();
              committed.insert(committed.end(), written.begin(), written.end());
            }
          }
          return committed;
        }));
  }
  std::atomic<bool> written{false};
  std::vector<std::future<std::vector<MessageId>>> relays;
  for (int i = 0; i < 2; ++i) {
    relays.push_back(std::async(
        std::launch::async, [&, store = std::shared_ptr<Store>(outbox().connect(relay_name(i)))] {
          std::vector<MessageId> delivered;
          EXPECT_TRUE(eventually([&] {
            const bool last = written;
            const ClaimResult result = store->claim({.count_max = 20, .sweep = true});
            std::vector<Settlement> done;
            for (const ClaimedMessage& got : result.messages) {
              delivered.push_back(got.message_id);
              done.push_back(dispatched(got.lease));
            }
            EXPECT_TRUE(store->settle(done).empty());
            return last && result.messages.empty() && !result.more;
          }));
          return delivered;
        }));
  }
  std::vector<MessageId> committed;
  for (auto& producer : producers) {
    const auto ids_of_one = producer.get();
    committed.insert(committed.end(), ids_of_one.begin(), ids_of_one.end());
  }
  written = true;
  std::vector<MessageId> delivered;
  for (auto& relay : relays) {
    const auto ids_of_one = relay.get();
    delivered.insert(delivered.end(), ids_of_one.begin(), ids_of_one.end());
  }
  // A key's next message may have become free after both relays had looked for the last time.
  for (auto rest = claim_all(); !rest.empty(); rest = claim_all()) {
    for (const ClaimedMessage& got : rest) {
      delivered.push_back(got.message_id);
      EXPECT_TRUE(settle(dispatched(got.lease)));
    }
  }
  EXPECT_EQ(delivered.size(), committed.size());
  EXPECT_EQ(as_set(delivered), as_set(committed));
}

// Purge, lists and the overview run beside relays and are in nobody's way.
TEST_P(StoreThreads, ArePurgedAndListedWhileTheyWork) {
  enqueue_many(400);
  std::atomic<int> looks{0};
  std::jthread operating([&looks, session = std::shared_ptr<StoreAdmin>(outbox().connect_admin())](
                             const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      static_cast<void>(session->purge(PurgeKind::dispatched, Millis{0}, 50));
      static_cast<void>(session->overview());
      static_cast<void>(session->list({}, {}));
      ++looks;
    }
  });
  std::size_t delivered = 0;
  EXPECT_TRUE(eventually([&] {
    std::vector<Settlement> batch;
    for (const ClaimedMessage& got : store().claim({.count_max = 20}).messages)
      batch.push_back(dispatched(got.lease));
    delivered += batch.size();
    EXPECT_TRUE(store().settle(batch).empty());
    return delivered >= 400 && looks > 0;
  }));
  EXPECT_EQ(delivered, 400U);
}

}  // namespace pillarbox::testing
