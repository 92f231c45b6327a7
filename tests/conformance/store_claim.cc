// SPDX-License-Identifier: Apache-2.0
// What a claim takes, in which order, how much at once.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

// An empty outbox is the usual case of an idle relay.
TEST_P(StoreClaim, TakesNothingFromAnEmptyOutbox) {
  const ClaimResult result = store().claim({});
  EXPECT_TRUE(result.messages.empty());
  EXPECT_FALSE(result.more);
}

// A message comes out as it went in.
TEST_P(StoreClaim, BringsTheMessageWithAllThatTheProducerSaid) {
  NewMessage sent = message("email.partner-verification.v1", "partner-4711");
  sent.payload = R"({ "id" : 4711 })";
  sent.headers = {{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                  {"tenant", "acme"}};
  sent.message_id = MessageId::parse("01890a5d-ac96-774b-bcce-b302099a8057");
  sent.correlation_id = "request-1";
  enqueue(sent);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.message_id, sent.message_id);
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.content_type, "application/json");
  EXPECT_EQ(got.headers, sent.headers);
  EXPECT_EQ(got.correlation_id, sent.correlation_id);
  EXPECT_EQ(got.ordering_key, sent.ordering_key);
  EXPECT_EQ(got.life, 0);
  EXPECT_FALSE(got.reclaimed);
  EXPECT_FALSE(got.expired);
  EXPECT_EQ(got.defect, "");
}

// What the producer left out comes back as empty, not as some word for it.
TEST_P(StoreClaim, BringsAbsentFieldsAsEmpty) {
  NewMessage bare;
  bare.job_type = "tick.v1";
  const MessageId id = enqueue(bare);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.message_id, id);
  EXPECT_EQ(got.payload, "null");
  EXPECT_EQ(got.correlation_id, "");
  EXPECT_EQ(got.ordering_key, "");
  EXPECT_TRUE(got.headers.empty());
}

// Near-FIFO: a backlog leaves in the order in which it was committed.
TEST_P(StoreClaim, TakesTheOldestFirst) {
  std::vector<MessageId> sent;
  for (int i = 0; i < 30; ++i) sent.push_back(enqueue(message()));
  EXPECT_EQ(ids(claim_all({.count_max = 7})), sent);
}

// Ten after nine: ids are numbers, also past a digit more.
TEST_P(StoreClaim, KeepsTheOrderOfOneTransaction) {
  const auto sent = enqueue_many(120);
  EXPECT_EQ(ids(claim_all({.count_max = 50})), sent);
}

TEST_P(StoreClaim, TakesAtMostAsManyAsAsked) {
  enqueue_many(10);
  const ClaimResult result = store().claim({.count_max = 4});
  EXPECT_LE(result.messages.size(), 4U);
  EXPECT_GE(result.messages.size(), 1U);
  EXPECT_TRUE(result.more);
}

TEST_P(StoreClaim, TakesNothingWhenAskedForNothing) {
  enqueue(message());
  EXPECT_TRUE(store().claim({.count_max = 0}).messages.empty());
  EXPECT_EQ(row(id_of(claim_one().message_id)).attempts, 1);
}

// Pitfall: 512 rows of 256 KiB. A batch is bounded by the bytes of its payloads too.
TEST_P(StoreClaim, IsBoundedByBytes) {
  NewMessage big = message();
  big.content_type = "text/plain";
  big.payload = std::string(1'000, 'x');
  for (int i = 0; i < 10; ++i) enqueue(big);
  const ClaimResult result = store().claim({.bytes_max = 3'500});
  EXPECT_EQ(result.messages.size(), 3U);
  EXPECT_TRUE(result.more);
  EXPECT_EQ(claim_all({.bytes_max = 3'500}).size(), 7U);
}

TEST_P(StoreClaim, IsBoundedByBytesForKeyedMessagesToo) {
  for (int i = 0; i < 10; ++i) {
    NewMessage big = message("order.shipped.v1", "key-" + std::to_string(i));
    big.content_type = "text/plain";
    big.payload = std::string(1'000, 'x');
    enqueue(big);
  }
  const ClaimResult result = store().claim({.bytes_max = 3'500});
  EXPECT_EQ(result.messages.size(), 3U);
  EXPECT_TRUE(result.more);
  EXPECT_EQ(claim_all({.bytes_max = 3'500}).size(), 7U);
}

// Pitfall: the budget counted for each kind of message by itself, and by how the last one fits.
TEST_P(StoreClaim, StaysNearItsBytesWithBothKindsTogether) {
  for (int i = 0; i < 10; ++i) {
    NewMessage big = message("order.shipped.v1", i % 2 == 0 ? "" : "key-" + std::to_string(i));
    big.content_type = "text/plain";
    big.payload = std::string(1'000, 'x');
    enqueue(big);
  }
  std::size_t bytes = 0;
  for (const ClaimedMessage& got : store().claim({.bytes_max = 3'500}).messages)
    bytes += got.payload.size();
  EXPECT_LE(bytes, 7'000U);
  EXPECT_GE(bytes, 1'000U);
}

// A message larger than the budget must not wait for ever.
TEST_P(StoreClaim, AlwaysTakesOneMessageHoweverLarge) {
  NewMessage big = message();
  big.content_type = "text/plain";
  big.payload = std::string(100'000, 'x');
  enqueue(big);
  enqueue(big);
  EXPECT_EQ(store().claim({.bytes_max = 1'000}).messages.size(), 1U);
  EXPECT_EQ(claim_all({.bytes_max = 1'000}).size(), 1U);
}

// A delayed message waits by the database's clock, and does not stand in the way of others.
TEST_P(StoreClaim, LeavesADelayedMessageUntilItIsDue) {
  NewMessage delayed = message();
  delayed.delay = std::chrono::hours(1);
  const MessageId later = enqueue(delayed);
  const MessageId now = enqueue(message());
  EXPECT_EQ(claim_one().message_id, now);
  EXPECT_TRUE(claim_all().empty());
  outbox().age(id_of(later), Millis{3'601'000});
  EXPECT_EQ(claim_one().message_id, later);
}

// No route leads on, or the route is backed off: those types wait, the others go.
TEST_P(StoreClaim, LeavesExcludedTypesAlone) {
  const MessageId email = enqueue(message("email.welcome.v1"));
  const MessageId order = enqueue(message("order.shipped.v1"));
  const std::vector<std::string> excluded = {"email.welcome.v1", "no.such.v1"};
  EXPECT_EQ(ids(claim_all({.excluded_types = excluded})), std::vector{order});
  EXPECT_EQ(row(id_of(email)).attempts, 0);
  EXPECT_EQ(claim_one().message_id, email);
}

// The head of a key whose type is excluded holds its key back: order is kept.
TEST_P(StoreClaim, KeepsAKeyWaitingBehindAnExcludedHead) {
  enqueue(message("email.welcome.v1", "k"));
  enqueue(message("order.shipped.v1", "k"));
  const std::vector<std::string> excluded = {"email.welcome.v1"};
  EXPECT_TRUE(claim_all({.excluded_types = excluded}).empty());
}

// Excluded types are exact names: no pattern, no prefix.
TEST_P(StoreClaim, ExcludesExactTypesOnly) {
  enqueue(message("email.welcome.v1"));
  enqueue(message("email.*"));
  const std::vector<std::string> excluded = {"email.*", "email.welcome"};
  const auto got = claim_all({.excluded_types = excluded});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].job_type, "email.welcome.v1");
}

// Late is worse than never: an expired message comes flagged, so that core can end it undelivered.
TEST_P(StoreClaim, FlagsAMessageThatExpired) {
  NewMessage fleeting = message();
  fleeting.expires_in = std::chrono::minutes(5);
  const MessageId id = enqueue(fleeting);
  outbox().age(id_of(id), std::chrono::minutes(6));
  EXPECT_TRUE(claim_one().expired);
}

TEST_P(StoreClaim, DoesNotFlagAMessageThatMayStillBeDelivered) {
  NewMessage fleeting = message();
  fleeting.expires_in = std::chrono::minutes(5);
  EXPECT_FALSE(claimed(fleeting).expired);
}

// Pitfall: a large mass of what is left alone hides what is not.
TEST_P(StoreClaim, FindsTheOneAmongManyExcluded) {
  enqueue_many(500, message("email.welcome.v1"));
  const MessageId order = enqueue(message("order.shipped.v1"));
  const std::vector<std::string> excluded = {"email.welcome.v1"};
  EXPECT_EQ(ids(claim_all({.count_max = 10, .excluded_types = excluded})), std::vector{order});
}

// A claim by a relay that works goes on behind what earlier claims left; the sweep looks there too.
TEST_P(StoreClaim, FindsByASweepWhatItHadToLeaveBefore) {
  const MessageId email = enqueue(message("email.welcome.v1"));
  const std::vector<std::string> excluded = {"email.welcome.v1"};
  enqueue_many(50, message("order.shipped.v1"));
  EXPECT_EQ(claim_all({.excluded_types = excluded}).size(), 50U);
  EXPECT_EQ(ids(store().claim({.sweep = true}).messages), std::vector{email});
}

TEST_P(StoreClaim, LooksEverywhereInTheFirstClaimOfASession) {
  const MessageId id = enqueue(message());
  const ClaimedMessage lost = claim_one();
  enqueue_many(20);
  claim_all();
  lose_lease(lost.lease.id);
  const auto fresh = outbox().connect(std::string(kOther));
  EXPECT_EQ(ids(fresh->claim({}).messages), std::vector{id});
}

}  // namespace pillarbox::testing
