// SPDX-License-Identifier: Apache-2.0
// What an operator finds: lists, filters, pages.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreList, ShowsTheNewestFirst) {
  const MessageId first = enqueue(message());
  const MessageId second = enqueue(message());
  const auto list = admin().list({}, {});
  ASSERT_EQ(list.rows.size(), 2U);
  EXPECT_EQ(list.rows[0].message_id, second);
  EXPECT_EQ(list.rows[1].message_id, first);
  EXPECT_FALSE(list.truncated);
}

TEST_P(StoreList, ShowsWhatTheProducerSaidButThePayload) {
  NewMessage sent = message("order.shipped.v1", "order-17");
  sent.headers = {{"tenant", "acme"}};
  sent.correlation_id = "c-1";
  sent.expires_in = std::chrono::hours(1);
  enqueue(sent);
  const MessageRow got = admin().list({}, {}).rows.at(0);
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.payload_bytes, static_cast<std::int64_t>(sent.payload.size()));
  EXPECT_EQ(got.headers, sent.headers);
  EXPECT_EQ(got.correlation_id, "c-1");
  EXPECT_EQ(got.ordering_key, "order-17");
  EXPECT_EQ(got.status, Status::pending);
  EXPECT_EQ(got.claim_no, 0);
  ASSERT_TRUE(got.expires_at);
  EXPECT_GT(ahead(*got.expires_at), std::chrono::minutes(55));
  EXPECT_LE(ahead(got.occurred_at), Millis{1});
}

TEST_P(StoreList, GivesEveryRowOnceOverItsPages) {
  enqueue_many(25);
  std::set<std::int64_t> seen;
  Page page{.limit = 10};
  for (int pages = 0; pages < 10; ++pages) {
    const MessageList list = admin().list({}, page);
    EXPECT_LE(list.rows.size(), 10U);
    for (const MessageRow& one : list.rows) EXPECT_TRUE(seen.insert(to_int(one.id)).second);
    if (!list.next) break;
    page.before = *list.next;
  }
  EXPECT_EQ(seen.size(), 25U);
}

TEST_P(StoreList, FiltersByStatus) {
  const ClaimedMessage done = claimed();
  EXPECT_TRUE(settle(dispatched(done.lease)));
  dead_message();
  claimed();
  enqueue(message());
  EXPECT_EQ(count({.statuses = {Status::pending}}), 1U);
  EXPECT_EQ(count({.statuses = {Status::claimed}}), 1U);
  EXPECT_EQ(count({.statuses = {Status::dispatched}}), 1U);
  EXPECT_EQ(count({.statuses = {Status::dead}}), 1U);
  EXPECT_EQ(count({.statuses = {Status::dead, Status::claimed}}), 2U);
}

// ready, delayed, retrying, held, braked: why a pending message waits.
TEST_P(StoreList, SaysWhyAMessageWaits) {
  const MessageId tried = enqueue(message());
  EXPECT_TRUE(settle(retry(claim_one().lease, Millis{600'000})));
  NewMessage later = message();
  later.delay = std::chrono::hours(1);
  const MessageId delayed = enqueue(later);
  const MessageId ready = enqueue(message("order.shipped.v1", "k"));
  const MessageId held = enqueue(message("order.shipped.v1", "k"));
  const MessageId braked = enqueue(message("email.welcome.v1"));
  admin().brake("type:email.*", "ada", "");
  EXPECT_EQ(row(id_of(tried)).view, "retrying");
  EXPECT_EQ(row(id_of(delayed)).view, "delayed");
  EXPECT_EQ(row(id_of(ready)).view, "ready");
  EXPECT_EQ(row(id_of(held)).view, "held");
  EXPECT_EQ(row(id_of(braked)).view, "braked");
  for (const char* view : {"retrying", "delayed", "ready", "held", "braked"})
    EXPECT_EQ(count({.views = {view}}), 1U) << view;
  EXPECT_EQ(count({.views = {"held", "braked"}}), 2U);
}

// status:dead,retrying — a status and a view are alternatives of one condition.
TEST_P(StoreList, TakesStatusesAndViewsAsAlternatives) {
  dead_message();
  enqueue(message());
  EXPECT_TRUE(settle(retry(claim_one().lease, Millis{600'000})));
  enqueue(message());
  EXPECT_EQ(count({.statuses = {Status::dead}, .views = {"retrying"}}), 2U);
}

TEST_P(StoreList, FiltersByType) {
  enqueue(message("email.welcome.v1"));
  enqueue(message("email.bye.v1"));
  enqueue(message("order.shipped.v1"));
  enqueue(message("order_shipped.v1"));
  EXPECT_EQ(count({.job_types = {"email.*"}}), 2U);
  EXPECT_EQ(count({.job_types = {"email.bye.v1", "order.shipped.v1"}}), 2U);
  EXPECT_EQ(count({.job_types = {"order_*"}}), 1U) << "'_' is a letter, not a pattern";
  EXPECT_EQ(count({.job_types = {"EMAIL.*"}}), 0U);
  EXPECT_EQ(count({.not_job_types = {"email.*"}}), 2U);
  EXPECT_EQ(count({.job_types = {"email.*"}, .not_job_types = {"email.bye.*"}}), 1U);
}

TEST_P(StoreList, FiltersByIdsKeysAndCorrelation) {
  NewMessage one = message("a.v1", "k1");
  one.correlation_id = "c1";
  const MessageId first = enqueue(one);
  enqueue(message("a.v1", "k2"));
  enqueue(message("a.v1"));
  EXPECT_EQ(count({.ids = {id_of(first)}}), 1U);
  EXPECT_EQ(count({.ids = {RowId{987'654'321}}}), 0U);
  EXPECT_EQ(count({.message_ids = {first, MessageId::make()}}), 1U);
  EXPECT_EQ(count({.ordering_keys = {"k1", "k2", "k3"}}), 2U);
  EXPECT_EQ(count({.correlation_ids = {"c1"}}), 1U);
}

TEST_P(StoreList, FiltersByReasonOfDeath) {
  const ClaimedMessage expired = claimed();
  EXPECT_TRUE(settle(dead(expired.lease, KeyPolicy::hold, DeadReason::expired)));
  dead_message();
  const Filter is_expired{.statuses = {Status::dead}, .reasons = {DeadReason::expired}};
  EXPECT_EQ(count(is_expired), 1U);
  EXPECT_EQ(admin().dead_letters(is_expired, {}).size(), 1U);
  const Filter others{.statuses = {Status::dead}, .not_reasons = {DeadReason::expired}};
  EXPECT_EQ(count(others), 1U);
  EXPECT_EQ(admin().dead_letters(others, {}).size(), 1U);
}

TEST_P(StoreList, FiltersByAttemptsErrorAndHeaders) {
  NewMessage sent = message();
  sent.headers = {{"tenant", "acme"}, {"region", "eu"}};
  enqueue(sent);
  EXPECT_TRUE(settle(retry(claim_one().lease, Millis{600'000}, "connection timed out (50%)")));
  enqueue(message());
  EXPECT_EQ(count({.attempts_min = 1}), 1U);
  EXPECT_EQ(count({.attempts_max = 0}), 1U);
  EXPECT_EQ(count({.attempts_min = 0, .attempts_max = 5}), 2U);
  EXPECT_EQ(count({.error_contains = "timed out (50%"}), 1U);
  EXPECT_EQ(count({.error_contains = "timed%50"}), 0U);
  EXPECT_EQ(count({.headers = {{"tenant", "acme"}}}), 1U);
  EXPECT_EQ(count({.headers = {{"tenant", "acme"}, {"region", "eu"}}}), 1U);
  EXPECT_EQ(count({.headers = {{"tenant", "acme"}, {"region", "us"}}}), 0U);
}

TEST_P(StoreList, FiltersByTime) {
  const MessageId old = enqueue(message());
  outbox().age(id_of(old), std::chrono::hours(2));
  const MessageId young = enqueue(message());
  const DbTime border = row(id_of(young)).occurred_at;
  EXPECT_EQ(count({.occurred_before = border}), 1U);
  EXPECT_EQ(count({.occurred_from = border}), 1U);
  EXPECT_EQ(count({.age_min = std::chrono::hours(1)}), 1U);
  EXPECT_EQ(count({.age_max = std::chrono::hours(1)}), 1U);
}

// A search that finds nothing near must not read a billion rows: it stops and says so.
TEST_P(StoreList, SaysWhenItStoppedLooking) {
  enqueue(message("needle.v1"));
  enqueue_many(200);
  const MessageList list = admin().list({.job_types = {"needle.v1"}}, {.scan_max = 50});
  EXPECT_TRUE(list.rows.empty());
  EXPECT_TRUE(list.truncated);
}

TEST_P(StoreList, FindsAMessageByItsMessageId) {
  const MessageId id = enqueue(message());
  EXPECT_TRUE(admin().find(id));
  EXPECT_FALSE(admin().find(MessageId::make()));
}

TEST_P(StoreList, ShowsOneMessageWithItsPayloadOnlyWhenAsked) {
  const RowId id = id_of(enqueue(message()));
  EXPECT_EQ(admin().show(id, false)->payload, "");
  EXPECT_EQ(admin().show(id, true)->payload, message().payload);
  EXPECT_FALSE(admin().show(RowId{987'654'321}, true));
}

TEST_P(StoreList, PagesThroughDeadLetters) {
  for (int i = 0; i < 5; ++i) dead_message();
  const auto first = admin().dead_letters({}, {.limit = 2});
  ASSERT_EQ(first.size(), 2U);
  EXPECT_GT(first[0].id, first[1].id);
  const auto rest = admin().dead_letters({}, {.before = first[1].id, .limit = 10});
  EXPECT_EQ(rest.size(), 3U);
}

// ---- overview

TEST_P(StoreOverview, IsAllZeroForAnEmptyOutbox) {
  const Overview o = admin().overview();
  EXPECT_EQ(o.ready + o.delayed + o.retrying + o.held + o.braked + o.claimed + o.dead, 0);
  EXPECT_FALSE(o.oldest_ready_at);
  EXPECT_FALSE(o.last_dispatched_at);
  EXPECT_TRUE(o.waiting_types.empty());
  EXPECT_GT(to_int(o.now), 0);
}

TEST_P(StoreOverview, CountsEachKind) {
  dead_message();
  const ClaimedMessage done = claimed();
  EXPECT_TRUE(settle(dispatched(done.lease)));
  enqueue(message());
  EXPECT_TRUE(settle(retry(claim_one().lease, Millis{600'000})));
  claimed();
  enqueue(message("order.shipped.v1", "k"));
  enqueue(message("order.shipped.v1", "k"));
  NewMessage later = message();
  later.delay = std::chrono::hours(1);
  enqueue(later);
  enqueue(message("email.welcome.v1"));
  admin().brake("type:email.*", "ada", "");
  const Overview o = admin().overview();
  EXPECT_EQ(o.dead, 1);
  EXPECT_EQ(o.dead_last_day, 1);
  EXPECT_EQ(o.retrying, 1);
  EXPECT_EQ(o.claimed, 1);
  EXPECT_EQ(o.ready, 1);
  EXPECT_EQ(o.held, 1);
  EXPECT_EQ(o.delayed, 1);
  EXPECT_EQ(o.braked, 1);
  EXPECT_EQ(o.dispatched_last_minute, 1);
  EXPECT_TRUE(o.last_dispatched_at);
}

// A relay died: what it held is not "claimed" to somebody who asks what goes on.
TEST_P(StoreOverview, CountsOnlyLiveLeasesAsClaimed) {
  const ClaimedMessage got = claimed();
  EXPECT_EQ(admin().overview().claimed, 1);
  lose_lease(got.lease.id);
  const Overview o = admin().overview();
  EXPECT_EQ(o.claimed, 0);
  EXPECT_EQ(o.retrying, 1);
  EXPECT_TRUE(o.oldest_ready_at);
}

// Health depends on it: the age of the oldest message that nobody takes grows.
TEST_P(StoreOverview, ShowsSinceWhenTheOldestWaits) {
  const MessageId old = enqueue(message());
  enqueue(message());
  outbox().age(id_of(old), std::chrono::hours(2));
  const Overview o = admin().overview();
  ASSERT_TRUE(o.oldest_ready_at);
  EXPECT_LT(ahead(*o.oldest_ready_at), -std::chrono::minutes(119));
}

TEST_P(StoreOverview, NamesTheTypesThatWaitMost) {
  enqueue_many(3, message("a.v1"));
  enqueue_many(5, message("b.v1"));
  enqueue(message("c.v1", "k"));
  const auto types = admin().overview().waiting_types;
  ASSERT_EQ(types.size(), 3U);
  EXPECT_EQ(types[0].job_type, "b.v1");
  EXPECT_EQ(types[0].waiting, 5);
  EXPECT_EQ(types[1].job_type, "a.v1");
  EXPECT_EQ(types[2].waiting, 1);
}

}  // namespace pillarbox::testing
