// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pillarbox/error.h"
#include "tests/conformance/store_fixture.h"

namespace pillarbox::testing {

constexpr Millis kLease{60'000};
constexpr Millis kPastLease{61'000};
constexpr std::string_view kOther = "host-b:2:bbbbbbbb";

// What every suite for stores stands on: a fresh outbox, a relay's session, an operator's session,
// and words for the usual steps. A step that cannot be taken throws, which fails the test.
class StoreSuite : public ::testing::TestWithParam<StoreParam> {
 protected:
  void SetUp() override {
    fixture_ = GetParam().make();
    store_ = fixture_->connect();
    admin_ = fixture_->connect_admin();
  }
  void TearDown() override {
    admin_.reset();
    store_.reset();
    fixture_.reset();
  }

  [[nodiscard]] StoreFixture& outbox() { return *fixture_; }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] StoreAdmin& admin() { return *admin_; }

  // ---- producing
  [[nodiscard]] static NewMessage message(std::string job_type = "order.shipped.v1",
                                          std::string ordering_key = "");
  MessageId enqueue(const NewMessage& message) { return outbox().enqueue(message); }
  // One transaction of `count` messages; their payloads are 0, 1, 2 …
  std::vector<MessageId> enqueue_many(std::size_t count, const NewMessage& like = message());

  // ---- claiming
  // All that is due, in as many claims as it takes, the sweep included.
  std::vector<ClaimedMessage> claim_all(Store& by, const ClaimRequest& request = {});
  std::vector<ClaimedMessage> claim_all(const ClaimRequest& request = {}) {
    return claim_all(store(), request);
  }
  // The one message that is due; throws when there is none or more than one.
  ClaimedMessage claim_one(Store& by);
  ClaimedMessage claim_one() { return claim_one(store()); }
  // enqueue() and claim_one().
  ClaimedMessage claimed(const NewMessage& message = StoreSuite::message()) {
    enqueue(message);
    return claim_one();
  }

  // ---- settling
  [[nodiscard]] static Settlement dispatched(const Lease& lease) {
    return {.lease = lease, .kind = SettleKind::dispatched};
  }
  [[nodiscard]] static Settlement retry(const Lease& lease, Millis delay = Millis{0},
                                        std::string error = "the sink answered 503") {
    return {.lease = lease,
            .kind = SettleKind::retry,
            .delay = delay,
            .code = "http_503",
            .error = std::move(error)};
  }
  [[nodiscard]] static Settlement release(const Lease& lease, Millis delay = Millis{0},
                                          std::string code = "") {
    return {.lease = lease, .kind = SettleKind::release, .delay = delay, .code = std::move(code)};
  }
  [[nodiscard]] static Settlement dead(const Lease& lease, KeyPolicy policy = KeyPolicy::hold,
                                       DeadReason reason = DeadReason::permanent) {
    return {.lease = lease,
            .kind = SettleKind::dead,
            .reason = reason,
            .key_policy = policy,
            .code = "http_400",
            .error = "the sink answered 400"};
  }
  // Whether the lease was still ours.
  bool settle(const Settlement& settlement) { return settle(store(), settlement); }
  bool settle(Store& by, const Settlement& settlement) {
    return by.settle(std::span(&settlement, 1)).empty();
  }
  // enqueue(), claim_one() and dead.
  ClaimedMessage dead_message(const NewMessage& message = StoreSuite::message(),
                              KeyPolicy policy = KeyPolicy::hold);

  // ---- looking
  [[nodiscard]] RowId id_of(MessageId message_id);
  [[nodiscard]] MessageDetail show(RowId id);
  [[nodiscard]] MessageRow row(RowId id) { return show(id).row; }
  [[nodiscard]] std::vector<std::string> outcomes(RowId id);  // of the history, oldest first
  [[nodiscard]] std::size_t count(const Filter& filter = {});
  [[nodiscard]] ActTarget target(RowId id) { return {id, row(id).claim_no}; }
  ActResult replay(RowId id);
  ActResult discard(RowId id);
  // From the database's now to `time`.
  [[nodiscard]] Millis ahead(DbTime time);

  // Lets the lease of a claimed message run out.
  void lose_lease(RowId id) { outbox().age(id, kPastLease); }

 private:
  std::unique_ptr<StoreFixture> fixture_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreAdmin> admin_;
};

[[nodiscard]] std::vector<MessageId> ids(const std::vector<ClaimedMessage>& messages);
[[nodiscard]] std::vector<std::string> payloads(const std::vector<ClaimedMessage>& messages);
[[nodiscard]] std::set<MessageId> as_set(const std::vector<MessageId>& ids);

// Looks until `condition` holds; false after a generous limit.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

// The Error that `work` throws; the test fails when it throws none.
[[nodiscard]] Error error_of(const std::function<void()>& work);

}  // namespace pillarbox::testing
