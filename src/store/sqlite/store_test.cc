// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "store/sqlite/test_outbox.h"

namespace pillarbox::sqlite {
namespace {

using Clock = std::chrono::steady_clock;

Settlement dispatched(const Lease& lease) {
  return {.lease = lease, .kind = SettleKind::dispatched};
}

class SqliteStore : public OutboxTest {};

TEST_F(SqliteStore, ClaimsWhatAPlainInsertEnqueued) {
  Shell shell(file());
  shell.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '{\"id\": 1}')");
  auto store = connect();
  const ClaimResult result = store->claim({});
  ASSERT_EQ(result.messages.size(), 1U);
  const ClaimedMessage& message = result.messages[0];
  EXPECT_EQ(message.job_type, "a.v1");
  EXPECT_EQ(message.payload, "{\"id\": 1}");
  EXPECT_EQ(message.content_type, "application/json");
  EXPECT_EQ(message.attempts, 1);
  EXPECT_EQ(message.lease.claim_no, 1);
  EXPECT_FALSE(message.reclaimed);
  EXPECT_FALSE(result.more);
  EXPECT_TRUE(store->claim({}).messages.empty());
  EXPECT_TRUE(store->settle(std::vector{dispatched(message.lease)}).empty());
  EXPECT_EQ(shell.one("select status, attempts, claim_no, claimed_by from pillarbox_outbox"),
            "2|1|1|null");
}

// A million braked or unrouted messages at the front must not cost each claim a million looks.
TEST_F(SqliteStore, GetsPastVeryManyExcludedMessages) {
  Shell shell(file());
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload, available_at) with recursive n(i) as "
      "(select 1 union all "
      "select i + 1 from n where i < 25000) select 'unrouted.v1', '1', 1000 + i from n");
  shell.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  auto store = connect();
  const std::vector<std::string> excluded = {"unrouted.v1"};
  ClaimRequest request{.excluded_types = excluded};
  ClaimResult result;
  int calls = 0;
  do {
    result = store->claim(request);
    ++calls;
  } while (result.messages.empty() && result.more && calls < 10);
  ASSERT_EQ(result.messages.size(), 1U);
  EXPECT_EQ(result.messages[0].job_type, "a.v1");
  EXPECT_EQ(calls, 3);
  // The next one is found at once, and so is the excluded type when it is excluded no longer.
  shell.rows("insert into pillarbox_outbox (job_type, payload) values ('b.v1', '1')");
  EXPECT_EQ(store->claim(request).messages.size(), 1U);
  EXPECT_EQ(store->claim({.count_max = 7}).messages.size(), 7U);
}

// SL1: whoever reads first and then writes is refused at once, whatever it would wait.
TEST_F(SqliteStore, WaitsForAWriterAndThenSucceeds) {
  Shell shell(file());
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1'), ('b.v1', '1')");
  auto store = connect();
  const ClaimResult first = store->claim({.count_max = 1});
  Shell other(file());
  const auto while_locked = [&](const std::function<void()>& act) {
    other.rows("begin immediate; update pillarbox_outbox set last_error = 'x' where id = 1");
    const auto begun = Clock::now();
    std::jthread unlock([&] {
      std::this_thread::sleep_until(begun + Millis(300));  // sleep: a lock held for so long
      other.rows("rollback");
    });
    act();
    EXPECT_GE(Clock::now() - begun, std::chrono::milliseconds(290));
  };
  while_locked([&] { EXPECT_EQ(store->claim({}).messages.size(), 1U); });
  const std::vector<Lease> leases = {first.messages[0].lease};
  while_locked([&] { EXPECT_TRUE(store->renew(leases, Millis(60'000)).empty()); });
  while_locked([&] { EXPECT_TRUE(store->settle(std::vector{dispatched(leases[0])}).empty()); });
}

TEST_F(SqliteStore, SaysSoWhenAWriterNeverEnds) {
  Shell shell(file());
  shell.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  StoreOptions brief = options();
  brief.call_timeout = Millis(100);
  auto store = factory_->connect(brief);
  shell.rows("begin immediate");
  try {
    static_cast<void>(store->claim({}));
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::conflict);
    EXPECT_FALSE(error.connection_lost());
  }
  shell.rows("rollback");
  EXPECT_EQ(store->claim({}).messages.size(), 1U);
}

// An idle relay must not wait for a producer's long transaction only to learn that there is
// nothing.
TEST_F(SqliteStore, AnIdleClaimTakesNoWriteLock) {
  auto store = connect();
  EXPECT_TRUE(store->claim({}).messages.empty());
  Shell shell(file());
  shell.rows("begin immediate");
  const auto begun = Clock::now();
  EXPECT_TRUE(store->claim({}).messages.empty());
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(4));
}

TEST_F(SqliteStore, AClaimThatFindsNothingWritesNothing) {
  Shell shell(file());
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload, available_at) values ('a.v1', '1', "
      "9000000000000)");
  auto store = connect();
  const auto size = [&] { return std::filesystem::file_size(file() + "-wal"); };
  const auto before = size();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(store->claim({.sweep = true}).messages.empty());
  EXPECT_EQ(size(), before);
}

TEST_F(SqliteStore, VisitsKeysRoundAndRound) {
  Shell shell(file());
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload, ordering_key) with recursive n(i) as "
      "(select 1 union all "
      "select i + 1 from n where i < 5000) select 'a.v1', '1', printf('k%05d', i % 2500) from n");
  auto store = connect();
  std::size_t claimed = 0;
  for (;;) {
    const ClaimResult result = store->claim({.count_max = 400});
    claimed += result.messages.size();
    if (!result.more) break;
  }
  EXPECT_EQ(claimed,
            2500U);  // one of each key, and no second one while the first is under its lease
  EXPECT_EQ(
      shell.one(
          "select count(*), count(distinct ordering_key) from pillarbox_outbox where status = 1"),
      "2500|2500");
}

TEST_F(SqliteStore, OpensWhatStandsThereAfterAFileWasReplaced) {
  auto store = connect();
  EXPECT_TRUE(store->claim({}).messages.empty());
  const std::string old = file() + ".old";
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::rename(file() + part, old + part);
  factory_->schema(options())->up({}, nullptr);
  Shell shell(file());
  shell.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  try {
    static_cast<void>(store->claim({}));
    FAIL() << "was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "PBX-4009");
    EXPECT_TRUE(error.connection_lost());
  }
  EXPECT_EQ(store->claim({}).messages.size(), 1U);
}

TEST_F(SqliteStore, NamesAMissingFileAndAMissingSchema) {
  const auto code_of = [&](const std::string& path) {
    try {
      static_cast<void>(
          factory_->connect({.url = "sqlite:" + path, .claimed_by = "a:1:b"})->claim({}));
    } catch (const Error& error) {
      return std::string(error.code());
    }
    return std::string();
  };
  EXPECT_EQ(code_of(file() + ".nowhere"), "PBX-4001");
  const std::string empty = (directory_.path() / "empty.db").string();
  Shell(empty).rows("create table t (x)");
  EXPECT_EQ(code_of(empty), "PBX-3001");
  Shell(file()).rows(
      "insert into pillarbox_schema_migration (number, name, checksum) values (999, 'later', '')");
  EXPECT_EQ(code_of(file()), "PBX-3003");
}

}  // namespace
}  // namespace pillarbox::sqlite
