// SPDX-License-Identifier: Apache-2.0
// What is particular to the store in memory; what all stores promise is in tests/conformance.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "pillarbox/error.h"
#include "store/memory/factory.h"
#include "store/memory/producer.h"
#include "store/memory/sessions.h"

namespace pillarbox::memory {
namespace {

StoreOptions named(std::string name) {
  return {.url = "memory:" + name, .claimed_by = "host-a:1:aaaaaaaa"};
}

class HandClock final : public DbClock {
 public:
  [[nodiscard]] DbTime now() override { return now_; }
  void advance(Millis by) { now_ = later(now_, by); }

 private:
  DbTime now_{1'000'000};
};

TEST(MemoryStore, IsSharedByAllThatNameItAndGoneWithTheLastOfThem) {
  const auto factory = make_factory();
  {
    const auto admin = factory->connect_admin(named("shared"));
    admin->enqueue({.job_type = "a.v1"});
    EXPECT_EQ(factory->connect(named("shared"))->claim({}).messages.size(), 1U);
    EXPECT_TRUE(factory->connect(named("other"))->claim({}).messages.empty());
  }
  EXPECT_TRUE(factory->connect(named("shared"))->claim({}).messages.empty());
}

TEST(MemoryStore, RefusesAUrlWithoutAUsableName) {
  const auto factory = make_factory();
  for (const char* url : {"memory:", "memory:a b", "memory://x", "sqlite:x", "memory:a?b=c"}) {
    try {
      factory->check({.url = url});
      FAIL() << url;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "PBX-2010") << url;
    }
  }
  factory->check({.url = "memory:Tests.one_2-3"});
}

// A simulator drives the database's clock: leases and due times follow it alone.
TEST(MemoryStore, TakesItsTimeFromTheClockThatItIsGiven) {
  const auto clock = std::make_shared<HandClock>();
  const auto outbox = Outbox::open("clocked", clock);
  Producer(outbox).enqueue({.job_type = "a.v1", .delay = Millis{50}});
  MemoryStore store(outbox, "host-a:1:aaaaaaaa", true);
  EXPECT_TRUE(store.claim({.lease = Millis{10}}).messages.empty());
  clock->advance(Millis{50});
  EXPECT_EQ(store.claim({.lease = Millis{10}}).messages.size(), 1U);
  clock->advance(Millis{9});
  EXPECT_TRUE(store.claim({.lease = Millis{10}}).messages.empty());
  clock->advance(Millis{1});
  EXPECT_TRUE(store.claim({.lease = Millis{10}}).messages.at(0).reclaimed);
}

TEST(MemoryProducer, DoesNotWaitWhenItIsToldNotTo) {
  const auto outbox = Outbox::open("nowait");
  Producer first(outbox, Millis{0});
  Producer second(outbox, Millis{0});
  first.begin();
  first.enqueue({.job_type = "a.v1", .ordering_key = "k"});
  try {
    second.enqueue({.job_type = "a.v1", .ordering_key = "k"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "PBX-4003");
  }
  second.enqueue({.job_type = "a.v1", .ordering_key = "other"});
  first.commit();
  second.enqueue({.job_type = "a.v1", .ordering_key = "k"});
}

// Two transactions take two keys in opposite order: one of them is told so and the other goes on.
TEST(MemoryProducer, SeesADeadlockAndRefusesOneSide) {
  const auto outbox = Outbox::open("deadlock");
  Producer first(outbox);
  Producer second(outbox);
  first.begin();
  second.begin();
  first.enqueue({.job_type = "a.v1", .ordering_key = "one"});
  second.enqueue({.job_type = "a.v1", .ordering_key = "two"});
  const auto cross = [](Producer& producer, const char* key) {
    try {
      producer.enqueue({.job_type = "a.v1", .ordering_key = key});
      producer.commit();
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::conflict);
      producer.rollback();
      return false;
    }
  };
  auto waiting = std::async(std::launch::async, cross, std::ref(first), "two");
  const bool second_committed = cross(second, "one");
  EXPECT_NE(waiting.get(), second_committed);
  MemoryStore store(outbox, "host-a:1:aaaaaaaa", true);
  EXPECT_EQ(store.claim({}).messages.size(), 2U);
}

TEST(MemoryProducer, LosesAnOpenTransactionWithItsSession) {
  const auto outbox = Outbox::open("lost");
  {
    Producer producer(outbox);
    producer.begin();
    producer.enqueue({.job_type = "a.v1", .ordering_key = "k"});
  }
  Producer(outbox, Millis{0}).enqueue({.job_type = "b.v1", .ordering_key = "k"});
  MemoryStore store(outbox, "host-a:1:aaaaaaaa", true);
  EXPECT_EQ(store.claim({}).messages.at(0).job_type, "b.v1");
}

TEST(MemoryWakeSource, WakesForACommitSinceItWasArmedAndForAStop) {
  const auto outbox = Outbox::open("wakes");
  MemoryWakeSource source(outbox);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  EXPECT_EQ(source.arm(), WakeSource::Armed::exact);
  Producer(outbox).enqueue({.job_type = "a.v1"});
  EXPECT_TRUE(source.wait(limit, {}));
  EXPECT_EQ(source.arm(), WakeSource::Armed::exact);
  EXPECT_FALSE(source.wait(std::chrono::steady_clock::now(), {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(source.wait(limit, stop.get_token()));
}

}  // namespace
}  // namespace pillarbox::memory
