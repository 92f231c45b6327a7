// SPDX-License-Identifier: Apache-2.0
// Heartbeats, the request to drain, waking up, the schema.
#include <future>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

RelayRow relay(std::string claimed_by) {
  RelayRow row;
  row.claimed_by = std::move(claimed_by);
  row.version = "0.1.0";
  row.workers = 4;
  row.leases_held = 17;
  return row;
}

}  // namespace

TEST_P(StoreRelays, AreListedByTheirHeartbeats) {
  EXPECT_FALSE(admin().heartbeat(relay("host-a:1:aaaaaaaa")));
  const auto relays = admin().relays();
  ASSERT_EQ(relays.size(), 1U);
  EXPECT_EQ(relays[0].claimed_by, "host-a:1:aaaaaaaa");
  EXPECT_EQ(relays[0].version, "0.1.0");
  EXPECT_EQ(relays[0].workers, 4);
  EXPECT_EQ(relays[0].leases_held, 17);
  EXPECT_FALSE(relays[0].draining);
  EXPECT_GT(ahead(relays[0].heartbeat_at), -std::chrono::minutes(1));
  EXPECT_LE(relays[0].started_at, relays[0].heartbeat_at);
}

TEST_P(StoreRelays, KeepOneLineEach) {
  admin().heartbeat(relay("host-a:1:aaaaaaaa"));
  RelayRow again = relay("host-a:1:aaaaaaaa");
  again.leases_held = 3;
  again.draining = true;
  admin().heartbeat(again);
  admin().heartbeat(relay("host-b:2:bbbbbbbb"));
  const auto relays = admin().relays();
  ASSERT_EQ(relays.size(), 2U);
  const RelayRow& first = relays[0].claimed_by == again.claimed_by ? relays[0] : relays[1];
  EXPECT_EQ(first.leases_held, 3);
  EXPECT_TRUE(first.draining);
}

TEST_P(StoreRelays, LeaveWhenTheySayGoodbye) {
  admin().heartbeat(relay("host-a:1:aaaaaaaa"));
  admin().say_goodbye("host-a:1:aaaaaaaa");
  EXPECT_TRUE(admin().relays().empty());
  admin().say_goodbye("host-a:1:aaaaaaaa");
}

// An operator asks one relay to drain; it hears of it with its next heartbeat, and goes on hearing.
TEST_P(StoreRelays, HearThatTheyShouldDrain) {
  admin().heartbeat(relay("host-a:1:aaaaaaaa"));
  admin().heartbeat(relay("host-b:2:bbbbbbbb"));
  EXPECT_TRUE(admin().ask_to_drain("host-a:1:aaaaaaaa"));
  EXPECT_TRUE(admin().heartbeat(relay("host-a:1:aaaaaaaa")));
  EXPECT_TRUE(admin().heartbeat(relay("host-a:1:aaaaaaaa")));
  EXPECT_FALSE(admin().heartbeat(relay("host-b:2:bbbbbbbb")));
}

TEST_P(StoreRelays, CannotBeAskedWhenNobodyKnowsThem) {
  EXPECT_FALSE(admin().ask_to_drain("host-z:9:zzzzzzzz"));
  EXPECT_TRUE(admin().relays().empty());
}

// ---- waking up

// A relay sleeps; a commit wakes it.
TEST_P(StoreWake, HearsACommitSinceItWasArmed) {
  if (!outbox().capabilities().wakes) GTEST_SKIP() << "this store cannot wake: relays poll";
  const auto source = outbox().factory().wake_source(outbox().options());
  const auto producer = outbox().producer();
  ASSERT_TRUE(eventually([&] { return source->arm() == WakeSource::Armed::exact; }));
  producer->enqueue(message());
  EXPECT_TRUE(source->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30), {}));
}

TEST_P(StoreWake, HearsACommitWhileItWaits) {
  if (!outbox().capabilities().wakes) GTEST_SKIP() << "this store cannot wake: relays poll";
  const auto source = outbox().factory().wake_source(outbox().options());
  const auto producer = outbox().producer();
  ASSERT_TRUE(eventually([&] { return source->arm() == WakeSource::Armed::exact; }));
  auto woken = std::async(std::launch::async, [&] {
    return source->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30), {});
  });
  producer->begin();
  producer->enqueue(message("order.shipped.v1", "k"));
  producer->commit();
  EXPECT_TRUE(woken.get());
}

TEST_P(StoreWake, ComesBackAtTheGivenTime) {
  if (!outbox().capabilities().wakes) GTEST_SKIP() << "this store cannot wake: relays poll";
  const auto source = outbox().factory().wake_source(outbox().options());
  ASSERT_TRUE(eventually([&] { return source->arm() == WakeSource::Armed::exact; }));
  EXPECT_FALSE(source->wait(std::chrono::steady_clock::now(), {}));
}

TEST_P(StoreWake, ComesBackWhenItIsStopped) {
  const auto source = outbox().factory().wake_source(outbox().options());
  static_cast<void>(source->arm());
  std::stop_source stop;
  auto woken = std::async(std::launch::async, [&] {
    return source->wait(std::chrono::steady_clock::now() + std::chrono::hours(1), stop.get_token());
  });
  stop.request_stop();
  EXPECT_FALSE(woken.get());
}

// Awake and working: producers need not care, and arming again works.
TEST_P(StoreWake, MayBeArmedAgainAfterItWasDisarmed) {
  if (!outbox().capabilities().wakes) GTEST_SKIP() << "this store cannot wake: relays poll";
  const auto source = outbox().factory().wake_source(outbox().options());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(eventually([&] { return source->arm() == WakeSource::Armed::exact; }));
    enqueue(message());
    EXPECT_TRUE(source->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30), {}));
    source->disarm();
    enqueue(message());
  }
  EXPECT_EQ(claim_all().size(), 6U);
}

// ---- the schema

TEST_P(StoreSchema, IsTheNewestAndHasNotDrifted) {
  const auto schema = outbox().factory().schema(outbox().options());
  const SchemaState state = schema->state();
  EXPECT_GE(state.version, 1);
  EXPECT_EQ(state.version, state.newest_known);
  EXPECT_EQ(state.drift, std::vector<std::string>{});
}

TEST_P(StoreSchema, MayBeMigratedAgainWithoutAnyEffect) {
  const MessageId id = enqueue(message());
  const auto schema = outbox().factory().schema(outbox().options());
  int told = 0;
  schema->up({}, [&](const MigrationStep&) { ++told; });
  EXPECT_EQ(told, 0);
  for (const MigrationStep& step : schema->plan()) EXPECT_TRUE(step.applied) << step.name;
  EXPECT_EQ(claim_one().message_id, id);
}

}  // namespace pillarbox::testing
