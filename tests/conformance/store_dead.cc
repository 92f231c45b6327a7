// SPDX-License-Identifier: Apache-2.0
// Dead letters, their history, and replay as a new life.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreDead, IsNotClaimedAgain) {
  const ClaimedMessage got = dead_message();
  EXPECT_TRUE(claim_all().empty());
  const MessageRow dead_row = row(got.lease.id);
  EXPECT_EQ(dead_row.status, Status::dead);
  EXPECT_EQ(dead_row.claimed_by, "");
  EXPECT_FALSE(dead_row.locked_until);
  EXPECT_EQ(dead_row.last_error, "the sink answered 400");
}

TEST_P(StoreDead, LeavesALetterThatSaysWhy) {
  const ClaimedMessage got = dead_message(message("order.shipped.v1", "k"));
  const auto letters = admin().dead_letters({}, {});
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].id, got.lease.id);
  EXPECT_EQ(letters[0].message_id, got.message_id);
  EXPECT_EQ(letters[0].job_type, "order.shipped.v1");
  EXPECT_EQ(letters[0].ordering_key, "k");
  EXPECT_EQ(letters[0].reason, DeadReason::permanent);
  EXPECT_EQ(letters[0].code, "http_400");
  EXPECT_EQ(letters[0].error, "the sink answered 400");
  EXPECT_EQ(letters[0].attempts, 1);
  EXPECT_EQ(letters[0].life, 0);
  EXPECT_TRUE(letters[0].holds_key);
  EXPECT_FALSE(letters[0].discarded_at);
}

TEST_P(StoreDead, CarriesEachReasonThatThereIs) {
  for (const DeadReason reason : {DeadReason::permanent, DeadReason::attempts, DeadReason::poison,
                                  DeadReason::expired, DeadReason::malformed}) {
    const ClaimedMessage got = claimed();
    EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold, reason)));
    EXPECT_EQ(show(got.lease.id).dead_letters.at(0).reason, reason);
  }
}

// Guarantee: dead letters with the whole history of why.
TEST_P(StoreDead, KeepsTheHistoryOfEveryAttempt) {
  ClaimedMessage got = claimed();
  EXPECT_TRUE(settle(retry(got.lease)));
  got = claim_one();
  lose_lease(got.lease.id);
  got = claim_one();
  EXPECT_TRUE(settle(release(got.lease, Millis{0}, "unavailable")));
  got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease)));
  const MessageDetail detail = show(got.lease.id);
  EXPECT_EQ(outcomes(got.lease.id),
            (std::vector<std::string>{"retry", "lease_lost", "release", "dead"}));
  for (std::size_t i = 0; i < detail.attempts.size(); ++i)
    EXPECT_EQ(detail.attempts[i].claim_no, static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(detail.attempts.back().error, "the sink answered 400");
  EXPECT_EQ(detail.dead_letters.at(0).attempts, 3);
}

// A dead message can still be read: its bytes are there.
TEST_P(StoreDead, KeepsItsPayload) {
  const ClaimedMessage got = dead_message();
  EXPECT_EQ(show(got.lease.id).payload, got.payload);
}

// ---- replay

TEST_P(StoreDead, BeginsANewLifeWhenReplayed) {
  const ClaimedMessage got = dead_message();
  const ActResult result = replay(got.lease.id);
  EXPECT_EQ(result.done, 1);
  EXPECT_EQ(result.skipped, 0);
  const ClaimedMessage again = claim_one();
  EXPECT_EQ(again.message_id, got.message_id);
  EXPECT_EQ(again.lease.id, got.lease.id);
  EXPECT_EQ(again.payload, got.payload);
  EXPECT_EQ(again.life, 1);
  EXPECT_EQ(again.attempts, 1);
  EXPECT_TRUE(admin().dead_letters({}, {}).empty());
}

TEST_P(StoreDead, CarriesItsHistoryIntoTheNewLife) {
  const ClaimedMessage got = dead_message();
  EXPECT_EQ(replay(got.lease.id).done, 1);
  EXPECT_TRUE(settle(dead(claim_one().lease)));
  const MessageDetail detail = show(got.lease.id);
  ASSERT_EQ(outcomes(got.lease.id), (std::vector<std::string>{"dead", "replayed", "dead"}));
  EXPECT_EQ(detail.attempts[0].life, 0);
  EXPECT_EQ(detail.attempts[2].life, 1);
  EXPECT_EQ(detail.dead_letters.back().life, 1);
}

TEST_P(StoreDead, MayBeReplayedOverAndOver) {
  ClaimedMessage got = dead_message();
  for (int life = 1; life <= 4; ++life) {
    EXPECT_EQ(replay(got.lease.id).done, 1);
    got = claim_one();
    EXPECT_EQ(got.life, life);
    EXPECT_TRUE(settle(dead(got.lease)));
  }
}

// Its time was up, an operator wants it delivered all the same.
TEST_P(StoreDead, ForgetsAnExpiryThatHasPassedWhenReplayed) {
  NewMessage fleeting = message();
  fleeting.expires_in = std::chrono::minutes(5);
  const MessageId id = enqueue(fleeting);
  outbox().age(id_of(id), std::chrono::minutes(6));
  ClaimedMessage got = claim_one();
  EXPECT_TRUE(settle(dead(got.lease, KeyPolicy::hold, DeadReason::expired)));
  EXPECT_EQ(replay(got.lease.id).done, 1);
  EXPECT_FALSE(claim_one().expired);
}

TEST_P(StoreDead, KeepsAnExpiryThatLiesAheadWhenReplayed) {
  NewMessage fleeting = message();
  fleeting.expires_in = std::chrono::hours(5);
  const ClaimedMessage got = dead_message(fleeting);
  EXPECT_EQ(replay(got.lease.id).done, 1);
  EXPECT_TRUE(row(got.lease.id).expires_at);
}

// Two operators replay the same list: the second finds that it has moved on.
TEST_P(StoreDead, IsReplayedOnlyOnceFromTheSameList) {
  const ClaimedMessage got = dead_message();
  const ActTarget listed = target(got.lease.id);
  EXPECT_EQ(admin().replay(std::span(&listed, 1), "ada", "").done, 1);
  const ActResult second = admin().replay(std::span(&listed, 1), "bob", "");
  EXPECT_EQ(second.done, 0);
  EXPECT_EQ(second.skipped, 1);
  EXPECT_TRUE(settle(dead(claim_one().lease)));
  EXPECT_EQ(admin().replay(std::span(&listed, 1), "bob", "").skipped, 1) << "an earlier death";
}

TEST_P(StoreDead, IsTheOnlyStateThatReplayTouches) {
  const ClaimedMessage done = claimed();
  EXPECT_TRUE(settle(dispatched(done.lease)));
  const ClaimedMessage held = claimed();
  const MessageId waiting = enqueue(message());
  const std::vector<ActTarget> targets = {target(done.lease.id),
                                          target(held.lease.id),
                                          target(id_of(waiting)),
                                          {RowId{987'654'321}, 0}};
  const ActResult result = admin().replay(targets, "ada", "");
  EXPECT_EQ(result.done, 0);
  EXPECT_EQ(result.skipped, 4);
  EXPECT_EQ(row(done.lease.id).status, Status::dispatched);
  EXPECT_EQ(row(held.lease.id).status, Status::claimed);
}

// The old holder wakes up after the replay: its word is of an earlier life.
TEST_P(StoreDead, DoesNotHearItsOldHolderAfterAReplay) {
  const ClaimedMessage stale = claimed();
  lose_lease(stale.lease.id);
  const auto other = outbox().connect(std::string(kOther));
  EXPECT_TRUE(settle(*other, dead(claim_one(*other).lease)));
  EXPECT_EQ(replay(stale.lease.id).done, 1);
  EXPECT_FALSE(settle(dispatched(stale.lease)));
  EXPECT_EQ(row(stale.lease.id).status, Status::pending);
}

TEST_P(StoreDead, AreReplayedInBulk) {
  enqueue_many(300);
  std::vector<Settlement> deaths;
  std::vector<ActTarget> targets;
  for (const ClaimedMessage& got : claim_all({.count_max = 300})) {
    deaths.push_back(dead(got.lease));
    targets.push_back({got.lease.id, got.lease.claim_no});
  }
  EXPECT_TRUE(store().settle(deaths).empty());
  EXPECT_EQ(admin().replay(targets, "ada", "the sink was mended").done, 300);
  EXPECT_EQ(claim_all().size(), 300U);
}

// ---- groups

// A thousand dead letters of one cause are one line to an operator.
TEST_P(StoreDead, AreGroupedByCause) {
  for (int i = 0; i < 3; ++i) {
    const ClaimedMessage got = claimed(message("order.shipped.v1"));
    Settlement death = dead(got.lease);
    death.error = "no customer " + std::to_string(100 + i);
    EXPECT_TRUE(settle(death));
  }
  dead_message(message("email.welcome.v1"));
  const auto groups = admin().dead_groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].job_type, "order.shipped.v1");
  EXPECT_EQ(groups[0].count, 3);
  EXPECT_EQ(groups[0].error, "no customer #");
  EXPECT_EQ(groups[0].reason, DeadReason::permanent);
  EXPECT_LE(groups[0].first_at, groups[0].last_at);
  EXPECT_EQ(row(groups[0].sample).job_type, "order.shipped.v1");
  EXPECT_EQ(groups[1].count, 1);
}

}  // namespace pillarbox::testing
