// SPDX-License-Identifier: Apache-2.0
// Rows that somebody edited by hand, counters at their end, connections that break.
#include <limits>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

// Every message that is due is delivered, however often the connection breaks: what a worker does.
template <class Call>
auto through_breaks(const Call& call) {
  for (int i = 0;; ++i) {
    try {
      return call();
    } catch (const Error& error) {
      if (i == 5 || !error.connection_lost()) throw;
    }
  }
}

}  // namespace

// A column that cannot be understood: the row comes with the reason, and the others flow.
TEST_P(StoreTampered, HeadersAreADefectOfTheirRowOnly) {
  const auto sent = enqueue_many(10);
  if (!outbox().tamper(id_of(sent[4]), "headers", "'[1,2]'"))
    GTEST_SKIP() << "this store refuses headers that are no object";
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 10U);
  for (const ClaimedMessage& message : got)
    EXPECT_EQ(message.defect.empty(), message.message_id != sent[4]) << message.defect;
}

TEST_P(StoreTampered, HeaderValuesThatAreNoTextAreADefect) {
  const MessageId id = enqueue(message());
  if (!outbox().tamper(id_of(id), "headers", "'{\"a\":1}'"))
    GTEST_SKIP() << "this store refuses headers whose values are no text";
  EXPECT_NE(claim_one().defect, "");
}

// The row with a defect can be ended like any other.
TEST_P(StoreTampered, RowsEndAsMalformed) {
  const MessageId id = enqueue(message());
  if (!outbox().tamper(id_of(id), "headers", "'[1,2]'"))
    GTEST_SKIP() << "this store refuses headers that are no object";
  const ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold, DeadReason::malformed)));
  EXPECT_EQ(show(got.lease.id).dead_letters.at(0).reason, DeadReason::malformed);
  EXPECT_EQ(admin().list({}, {}).rows.size(), 1U);
}

// Pitfall: a counter at its maximum overflowed inside the claim and stopped the queue for a day.
TEST_P(StoreTampered, AttemptsSaturate) {
  const auto sent = enqueue_many(100);
  if (!outbox().tamper(id_of(sent[50]), "attempts", "2147483647"))
    GTEST_SKIP() << "this store has no hand to edit rows";
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 100U);
  for (const ClaimedMessage& message : got) {
    EXPECT_EQ(message.attempts,
              message.message_id == sent[50] ? std::numeric_limits<std::int32_t>::max() : 1);
    EXPECT_TRUE(settle(dead(message.lease, KeyPolicy::hold, DeadReason::attempts)));
  }
}

TEST_P(StoreTampered, AClaimNumberAtItsEndStopsNobodyElse) {
  const auto sent = enqueue_many(20);
  if (!outbox().tamper(id_of(sent[7]), "claim_no", "9223372036854775807"))
    GTEST_SKIP() << "this store has no hand to edit rows";
  std::set<MessageId> got = as_set(ids(claim_all()));
  got.erase(sent[7]);
  EXPECT_EQ(got.size(), 19U);
}

TEST_P(StoreTampered, AClaimNumberAtItsEndStopsNoOtherKey) {
  const MessageId odd = enqueue(message("order.shipped.v1", "a"));
  enqueue(message("order.shipped.v1", "b"));
  enqueue(message("order.shipped.v1", "c"));
  if (!outbox().tamper(id_of(odd), "claim_no", "9223372036854775807"))
    GTEST_SKIP() << "this store has no hand to edit rows";
  std::set<MessageId> got = as_set(ids(claim_all()));
  got.erase(odd);
  EXPECT_EQ(got.size(), 2U);
}

TEST_P(StoreTampered, ANegativeCountOfAttemptsIsHarmless) {
  const auto sent = enqueue_many(3);
  if (!outbox().tamper(id_of(sent[1]), "attempts", "-5"))
    GTEST_SKIP() << "this store refuses the value, or has no hand to edit rows";
  EXPECT_EQ(claim_all().size(), 3U);
}

// ids are 64 bits everywhere.
TEST_P(StoreTampered, RowsMayHaveIdsBeyondTwoToTheThirtyOne) {
  const MessageId far = enqueue(message());
  for (const char* id : {"2147483646", "4294967294", "9007199254740990"}) {
    if (!outbox().tamper(id_of(far), "id", id))
      GTEST_SKIP() << "this store has no hand to move a row's id";
    const ClaimedMessage got = claim_one();
    EXPECT_EQ(std::to_string(to_int(got.lease.id)), id);
    EXPECT_TRUE(store().renew(std::span(&got.lease, 1), kLease).empty());
    EXPECT_TRUE(settle(retry(got.lease)));
    EXPECT_EQ(row(got.lease.id).message_id, far);
  }
}

// ---- connections that break

// The connection is cut between any two calls of a worker: it goes on, and nothing is lost.
TEST_P(StoreBroken, ConnectionsBetweenTwoCallsCostNothing) {
  for (int cut = 0; cut < 4; ++cut) {
    const MessageId id = enqueue(message());
    const auto cut_here = [&](int here) { return cut != here || outbox().break_connections(); };
    if (!cut_here(0)) GTEST_SKIP() << "this store has no connection to cut";
    const ClaimedMessage got =
        through_breaks([&] { return store().claim({.sweep = true}); }).messages.at(0);
    EXPECT_TRUE(cut_here(1));
    EXPECT_EQ(got.message_id, id);
    EXPECT_TRUE(
        through_breaks([&] { return store().renew(std::span(&got.lease, 1), kLease); }).empty());
    EXPECT_TRUE(cut_here(2));
    const Settlement done = dispatched(got.lease);
    through_breaks([&] { return store().settle(std::span(&done, 1)); });
    EXPECT_TRUE(cut_here(3));
    EXPECT_EQ(through_breaks([&] { return admin().show(got.lease.id, false); })->row.status,
              Status::dispatched);
  }
  EXPECT_EQ(through_breaks([&] { return admin().list({}, {}); }).rows.size(), 4U);
}

TEST_P(StoreBroken, ConnectionsOfAnOperatorComeBack) {
  const ClaimedMessage got = dead_message();
  if (!outbox().break_connections()) GTEST_SKIP() << "this store has no connection to cut";
  EXPECT_EQ(through_breaks([&] { return admin().overview(); }).dead, 1);
  outbox().break_connections();
  through_breaks([&] { return admin().brake("all", "ada", ""); });
  outbox().break_connections();
  EXPECT_TRUE(through_breaks([&] { return admin().unbrake("all", "ada"); }));
  outbox().break_connections();
  const ActTarget one{got.lease.id, got.lease.claim_no};
  EXPECT_EQ(through_breaks([&] { return admin().replay(std::span(&one, 1), "ada", ""); }).done, 1);
  EXPECT_EQ(claim_one().message_id, got.message_id);
}

// Over and over: no leak of sessions, no call that stays broken.
TEST_P(StoreBroken, ConnectionsMayBreakManyTimes) {
  const auto sent = enqueue_many(20);
  std::vector<MessageId> delivered;
  for (int i = 0; i < 20; ++i) {
    if (!outbox().break_connections()) GTEST_SKIP() << "this store has no connection to cut";
    for (const ClaimedMessage& got :
         through_breaks([&] { return store().claim({.count_max = 1, .sweep = true}); }).messages) {
      outbox().break_connections();
      const Settlement done = dispatched(got.lease);
      through_breaks([&] { return store().settle(std::span(&done, 1)); });
      delivered.push_back(got.message_id);
    }
  }
  for (const ClaimedMessage& got : claim_all()) delivered.push_back(got.message_id);
  EXPECT_EQ(as_set(delivered), as_set(sent));
  EXPECT_EQ(delivered.size(), sent.size());
}

TEST_P(StoreBroken, ConnectionsOfAWakeSourceComeBack) {
  if (!outbox().capabilities().wakes) GTEST_SKIP() << "this store cannot wake: relays poll";
  auto source = outbox().factory().wake_source(outbox().options());
  ASSERT_TRUE(eventually([&] { return source->arm() == WakeSource::Armed::exact; }));
  if (!outbox().break_connections()) GTEST_SKIP() << "this store has no connection to cut";
  ASSERT_TRUE(eventually([&] {
    try {
      return source->arm() == WakeSource::Armed::exact;
    } catch (const Error&) {
      source = outbox().factory().wake_source(outbox().options());
      return false;
    }
  }));
  enqueue(message());
  EXPECT_TRUE(source->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30), {}));
}

}  // namespace pillarbox::testing
