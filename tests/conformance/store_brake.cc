// SPDX-License-Identifier: Apache-2.0
// Guarantee 12: the brake holds. Producers go on, delivery stops.
#include <atomic>
#include <thread>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {

TEST_P(StoreBrake, StopsEverythingUnderAll) {
  enqueue(message());
  enqueue(message("order.shipped.v1", "k"));
  admin().brake("all", "ada", "the provider asked us to");
  enqueue(message());
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreBrake, StopsOneTypeOnly) {
  enqueue(message("email.welcome.v1"));
  enqueue(message("email.welcome.v10"));
  admin().brake("type:email.welcome.v1", "ada", "");
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].job_type, "email.welcome.v10");
}

TEST_P(StoreBrake, StopsAPrefixOfTypes) {
  enqueue(message("email.welcome.v1"));
  enqueue(message("email.bye.v2"));
  enqueue(message("emails.v1"));
  enqueue(message("email.welcome.v1", "k"));
  admin().brake("type:email.*", "ada", "");
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].job_type, "emails.v1");
}

// '_' and '%' are letters of a name, not patterns of some database.
TEST_P(StoreBrake, TakesEveryOtherCharacterAsItIs) {
  enqueue(message("a_b.v1"));
  enqueue(message("axb.v1"));
  enqueue(message("a%b.v1"));
  enqueue(message("a[b.v1"));
  admin().brake("type:a_b.*", "ada", "");
  EXPECT_EQ(claim_all().size(), 3U);
}

// The brake is a row in the store: every relay sees it, also one that starts later.
TEST_P(StoreBrake, BindsEveryRelay) {
  enqueue(message());
  const auto other = outbox().connect(std::string(kOther));
  EXPECT_EQ(claim_all().size(), 1U);
  admin().brake("all", "ada", "");
  enqueue(message());
  EXPECT_TRUE(claim_all(*other).empty());
  const auto late = outbox().connect("host-c:3:cccccccc");
  EXPECT_TRUE(claim_all(*late).empty());
}

TEST_P(StoreBrake, LosesNothingOfWhatItHeldBack) {
  const auto sent = enqueue_many(20);
  admin().brake("all", "ada", "");
  EXPECT_TRUE(claim_all().empty());
  EXPECT_TRUE(admin().unbrake("all", "ada"));
  EXPECT_EQ(ids(claim_all()), sent);
}

TEST_P(StoreBrake, CountsNoAttemptOfWhatItHoldsBack) {
  const MessageId id = enqueue(message());
  admin().brake("all", "ada", "");
  EXPECT_TRUE(claim_all().empty());
  EXPECT_EQ(row(id_of(id)).attempts, 0);
}

// What is in flight may end: settle and renew know no brake.
TEST_P(StoreBrake, LetsRunningDeliveriesEnd) {
  enqueue_many(2);
  const auto got = claim_all();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(admin().brake("all", "ada", ""), 2);
  EXPECT_EQ(admin().claimed_in_scope("all"), 2);
  EXPECT_TRUE(store().renew(std::span(&got[0].lease, 1), kLease).empty());
  EXPECT_TRUE(settle(dispatched(got[0].lease)));
  EXPECT_EQ(admin().claimed_in_scope("all"), 1);
  EXPECT_TRUE(settle(retry(got[1].lease)));
  EXPECT_EQ(admin().claimed_in_scope("all"), 0);
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreBrake, CountsWhatIsClaimedInItsScopeOnly) {
  enqueue(message("email.welcome.v1"));
  enqueue(message("email.bye.v1", "k"));
  enqueue(message("order.shipped.v1"));
  claim_all();
  EXPECT_EQ(admin().brake("type:email.*", "ada", ""), 2);
  EXPECT_EQ(admin().claimed_in_scope("type:email.bye.v1"), 1);
  EXPECT_EQ(admin().claimed_in_scope("type:none.v1"), 0);
}

TEST_P(StoreBrake, CountsLiveLeasesOnly) {
  const ClaimedMessage got = claimed();
  lose_lease(got.lease.id);
  EXPECT_EQ(admin().brake("all", "ada", ""), 0);
}

// A lease that ran out is not taken over while the brake is on.
TEST_P(StoreBrake, HoldsBackWhatIsTakenOverToo) {
  const ClaimedMessage got = claimed();
  lose_lease(got.lease.id);
  admin().brake("all", "ada", "");
  EXPECT_TRUE(claim_all().empty());
}

TEST_P(StoreBrake, IsListedWithItsReason) {
  admin().brake("type:email.*", "ada", "bounces");
  const auto brakes = admin().brakes();
  ASSERT_EQ(brakes.size(), 1U);
  EXPECT_EQ(brakes[0].scope, "type:email.*");
  EXPECT_EQ(brakes[0].set_by, "ada");
  EXPECT_EQ(brakes[0].reason, "bounces");
  EXPECT_GT(to_int(brakes[0].set_at), 0);
}

TEST_P(StoreBrake, TakesItsLatestReasonWhenSetTwice) {
  admin().brake("all", "ada", "first");
  admin().brake("all", "bob", "second");
  const auto brakes = admin().brakes();
  ASSERT_EQ(brakes.size(), 1U);
  EXPECT_EQ(brakes[0].reason, "second");
  EXPECT_TRUE(admin().unbrake("all", "ada"));
  EXPECT_TRUE(admin().brakes().empty());
}

TEST_P(StoreBrake, SaysWhenItWasNotSet) { EXPECT_FALSE(admin().unbrake("type:email.*", "ada")); }

// Two brakes cover a type: lifting one of them is not enough.
TEST_P(StoreBrake, HoldsUntilTheLastThatCoversATypeIsLifted) {
  enqueue(message("email.welcome.v1"));
  admin().brake("type:email.*", "ada", "");
  admin().brake("type:email.welcome.v1", "ada", "");
  EXPECT_TRUE(admin().unbrake("type:email.*", "ada"));
  EXPECT_TRUE(claim_all().empty());
  EXPECT_TRUE(admin().unbrake("type:email.welcome.v1", "ada"));
  EXPECT_EQ(claim_all().size(), 1U);
}

TEST_P(StoreBrake, RefusesAScopeThatIsNone) {
  for (const char* scope : {"", "everything", "type:", "type:a*b", "email.*"}) {
    EXPECT_EQ(error_of([&] { admin().brake(scope, "ada", ""); }).kind(), ErrorKind::invalid_input)
        << scope;
  }
  EXPECT_TRUE(admin().brakes().empty());
}

// After brake() returns, no claim that commits later takes anything: with relays claiming as fast
// as they can, the number that it returns is the last word.
TEST_P(StoreBrake, HoldsAgainstClaimsThatRunAtTheSameTime) {
  enqueue_many(600);
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 3; ++i)
    stores.push_back(outbox().connect("host-" + std::to_string(i) + ":1:n"));
  std::atomic<bool> braked{false};
  std::atomic<int> claims{0};
  std::vector<std::jthread> relays;
  for (auto& one : stores) {
    relays.emplace_back([&braked, &claims, &one] {
      for (int after = 0; after < 3;) {
        if (braked) ++after;
        static_cast<void>(one->claim({.count_max = 2, .lease = std::chrono::hours(1)}));
        ++claims;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return claims >= 9; }));
  const std::int64_t running = admin().brake("all", "ada", "");
  braked = true;
  relays.clear();
  EXPECT_EQ(admin().claimed_in_scope("all"), running);
}

}  // namespace pillarbox::testing
