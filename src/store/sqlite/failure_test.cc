// SPDX-License-Identifier: Apache-2.0
// Disks that fill, files that cannot be written, processes that die between any two statements,
// logs that grow.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "store/sqlite/checkpointer.h"
#include "store/sqlite/examine.h"
#include "store/sqlite/test_outbox.h"

namespace pillarbox::sqlite {
namespace {

using Clock = std::chrono::steady_clock;

Settlement dispatched(const Lease& lease) {
  return {.lease = lease, .kind = SettleKind::dispatched};
}

// A file system of its own, small; not every user may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& options) {
    mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_.path() / name).string();
  }
  [[nodiscard]] bool make_read_only() const {
    return ::mount(nullptr, directory_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) ==
           0;
  }

 private:
  TestDirectory directory_;
  bool mounted_ = false;
};

class SqliteFailure : public OutboxTest {};

// Nothing is claimed whose mark could not be stored; when there is room again, work goes on.
TEST_F(SqliteFailure, AFullDiskRefusesAndLosesNothing) {
  const SmallDisk disk("size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small file system";
  const StoreOptions on_disk{.url = "sqlite:" + disk.path("app.db"), .claimed_by = "a:1:b"};
  factory_->schema(on_disk)->up({}, nullptr);
  Shell shell(disk.path("app.db"));
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload) with recursive n(i) as (select 1 union all "
      "select i + 1 from n where i < 200) select 'a.v1', '1' from n");
  { std::ofstream(disk.path("ballast")) << std::string(4 * 1024 * 1024, 'x'); }
  auto store = factory_->connect(on_disk);
  std::string code;
  for (int i = 0; i < 200 && code.empty(); ++i) {
    try {
      static_cast<void>(store->claim({.count_max = 20}));  // only whether it is refused
      shell.rows(
          "update pillarbox_outbox set status = 0, claimed_by = null, locked_until = null where "
          "status = 1");
    } catch (const Error& error) {
      code = error.code();
      EXPECT_EQ(error.kind(), ErrorKind::refused);
    } catch (const std::runtime_error&) {  // the shell met the full disk first
    }
  }
  EXPECT_EQ(code, "PBX-4005");
  std::filesystem::remove(disk.path("ballast"));
  shell.rows(
      "update pillarbox_outbox set status = 0, claimed_by = null, locked_until = null where status "
      "= 1");
  EXPECT_EQ(store->claim({.count_max = 500, .sweep = true}).messages.size(), 200U);
  EXPECT_EQ(shell.one("pragma integrity_check"), "ok");
}

TEST_F(SqliteFailure, AReadOnlyDatabaseRefusesEveryWrite) {
  const SmallDisk disk("size=16m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small file system";
  const StoreOptions on_disk{.url = "sqlite:" + disk.path("app.db"), .claimed_by = "a:1:b"};
  factory_->schema(on_disk)->up({}, nullptr);
  Shell(disk.path("app.db"))
      .rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  ASSERT_TRUE(disk.make_read_only());
  const auto refused = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == "PBX-4004" || error.code() == "PBX-4001") << error.what();
      EXPECT_TRUE(error.connection_lost());
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { static_cast<void>(factory_->connect(on_disk)->claim({})); }));
  EXPECT_TRUE(refused([&] { factory_->connect_admin(on_disk)->brake("all", "ada", ""); }));
}

TEST_F(SqliteFailure, ADamagedFileIsNamed) {
  const std::string path = (directory_.path() / "noise.db").string();
  std::ofstream(path) << std::string(8192, 'x');
  try {
    static_cast<void>(
        factory_->connect({.url = "sqlite:" + path, .claimed_by = "a:1:b"})->claim({}));
    FAIL() << "was taken for a database";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "PBX-4006");
    EXPECT_EQ(error.kind(), ErrorKind::refused);
  }
}

// A relay is killed anywhere: each message ends as it was or as it was told, and is claimed again
// after its lease.
TEST_F(SqliteFailure, AKilledRelayLeavesEachTransactionWholeOrUndone) {
  Shell shell(file());
  constexpr int kRows = 400;
  shell.rows(
      "insert into pillarbox_outbox (job_type, payload, ordering_key) with recursive n(i) as "
      "(select 1 union all "
      "select i + 1 from n where i < 400) select 'a.v1', '1', iif(i % 2, null, 'k' || (i % 20)) "
      "from n");
  for (int round = 0; round < 12; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // a relay of its own that never stops by itself
      const auto factory = make_factory();
      const auto store = factory->connect(options("child:1:" + std::to_string(round)));
      for (int step = 0;; ++step) {
        try {
          const ClaimResult got = store->claim({.count_max = 5, .lease = Millis(1), .sweep = true});
          std::vector<Settlement> ends;
          for (const ClaimedMessage& message : got.messages) {
            Settlement end = dispatched(message.lease);
            if (step % 3 == 1) end.kind = SettleKind::retry;
            if (step % 7 == 2) end.kind = SettleKind::dead;
            end.key_policy = KeyPolicy::skip;
            end.code = "x";
            ends.push_back(end);
          }
          static_cast<void>(store->settle(ends));
        } catch (const Error&) {
        }
        const char one = 1;
        if (::write(pipe_ends[1], &one, 1) != 1) ::_exit(1);
      }
    }
    for (int heard = 0; heard < 1 + round; ++heard) {
      char one = 0;
      ASSERT_EQ(::read(pipe_ends[0], &one, 1), 1);
    }
    ::kill(child, SIGKILL);  // wherever it is now
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    ASSERT_EQ(shell.one("pragma integrity_check"), "ok");
    ASSERT_EQ(shell.one("select count(*) from pillarbox_outbox"), std::to_string(kRows));
    EXPECT_EQ(
        shell.one(
            "select count(*) from pillarbox_outbox where (status = 3) <> exists (select 1 from "
            "pillarbox_dead_letter d where d.outbox_id = pillarbox_outbox.id)"),
        "0");
    EXPECT_EQ(
        shell.one(
            "select count(*) from pillarbox_outbox where status = 2 and dispatched_at is null"),
        "0");
    EXPECT_EQ(shell.one("select count(*) from pillarbox_outbox where claim_no < attempts"), "0");
  }
  shell.rows(
      "update pillarbox_outbox set locked_until = locked_until - 60000, available_at = "
      "available_at - 60000 "
      "where status <= 1");
  const auto store = connect("rescuer:1:a");
  for (int i = 0; i < 2'000; ++i) {
    const ClaimResult got = store->claim({.count_max = 50, .sweep = true});
    if (got.messages.empty() && !got.more) break;
    std::vector<Settlement> ends;
    for (const ClaimedMessage& message : got.messages) ends.push_back(dispatched(message.lease));
    EXPECT_TRUE(store->settle(ends).empty());
  }
  EXPECT_EQ(shell.one("select count(*) from pillarbox_outbox where status <= 1"), "0");
}

// SL2: readers that overlap kept the log from ever being reset.
TEST_F(SqliteFailure, TheLogStaysBoundedUnderOverlappingReaders) {
  const auto store = connect();
  std::atomic<bool> done{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      Shell reader(file());
      while (!done)
        reader.rows(
            "begin; select count(*) from pillarbox_outbox; select max(id) from pillarbox_outbox; "
            "commit");
    });
  }
  Shell producer(file());
  producer.rows("pragma wal_autocheckpoint = 0; pragma synchronous = off");
  const std::string big(20'000, 'x');
  std::uintmax_t largest = 0;
  std::uintmax_t written = 0;
  while (written < 120'000'000) {
    producer.rows("begin immediate");
    for (int k = 0; k < 20; ++k)
      producer.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '\"" + big +
                    "\"')");
    producer.rows("commit");
    std::vector<Settlement> ends;
    for (const ClaimedMessage& message : store->claim({.count_max = 20}).messages)
      ends.push_back(dispatched(message.lease));
    static_cast<void>(store->settle(ends));
    producer.rows(
        "delete from pillarbox_outbox where status = 2 and id < (select max(id) - 200 from "
        "pillarbox_outbox)");
    written += 60 * big.size();  // inserted, claimed, settled
    largest = std::max(largest, std::filesystem::file_size(file() + "-wal"));
  }
  done = true;
  readers.clear();
  EXPECT_LE(largest, 64U * 1024 * 1024);
  EXPECT_EQ(producer.one("pragma integrity_check"), "ok");
}

TEST_F(SqliteFailure, KnowsWhichLibrariesCanDamageAFile) {
  EXPECT_TRUE(has_wal_reset_defect(3040001));
  EXPECT_TRUE(has_wal_reset_defect(3044005));
  EXPECT_FALSE(has_wal_reset_defect(3044006));
  EXPECT_TRUE(has_wal_reset_defect(3045000));
  EXPECT_TRUE(has_wal_reset_defect(3050006));
  EXPECT_FALSE(has_wal_reset_defect(3050007));
  EXPECT_TRUE(has_wal_reset_defect(3051002));
  EXPECT_FALSE(has_wal_reset_defect(3051003));
  EXPECT_FALSE(has_wal_reset_defect(3052000));
}

// ---- waking

class SqliteWake : public OutboxTest {
 protected:
  [[nodiscard]] static Instant far() { return Clock::now() + std::chrono::seconds(30); }
  [[nodiscard]] static Instant soon() { return Clock::now() + std::chrono::milliseconds(50); }
};

TEST_F(SqliteWake, WakesForACommitAndSleepsWithoutOne) {
  const auto source = factory_->wake_source(options());
  ASSERT_EQ(source->arm(), WakeSource::Armed::exact);
  EXPECT_FALSE(source->wait(soon(), {}));
  Shell(file()).rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  EXPECT_TRUE(source->wait(far(), {}));
}

// The log is written before a commit can be seen: a wake-up must not come while the claim would
// find nothing.
TEST_F(SqliteWake, WakesOnlyWhenTheWriterHasEnded) {
  const auto store = connect();
  const auto source = factory_->wake_source(options());
  Shell shell(file());
  shell.rows("pragma cache_size = 10; begin immediate");
  for (int i = 0; i < 200; ++i)  // more than its cache holds: it spills into the log
    shell.rows(
        "insert into pillarbox_outbox (job_type, payload) values ('a.v1', "
        "json_quote(hex(zeroblob(2000))))");
  ASSERT_EQ(source->arm(), WakeSource::Armed::exact);
  EXPECT_FALSE(source->wait(soon(), {})) << "woken while the transaction is open";
  shell.rows("commit");
  EXPECT_TRUE(source->wait(far(), {}));
  EXPECT_EQ(store->claim({.count_max = 500}).messages.size(), 200U);
}

TEST_F(SqliteWake, OurOwnWorkDoesNotWakeUsWithoutEnd) {
  const auto store = connect();
  const auto source = factory_->wake_source(options());
  Shell(file()).rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  const ClaimResult got = store->claim({});
  ASSERT_EQ(got.messages.size(), 1U);
  EXPECT_TRUE(store->settle(std::vector{dispatched(got.messages[0].lease)}).empty());
  ASSERT_EQ(source->arm(), WakeSource::Armed::exact);
  EXPECT_TRUE(store->claim({}).messages.empty());
  EXPECT_FALSE(source->wait(soon(), {}));
}

TEST_F(SqliteWake, StopsWaitingWhenAsked) {
  const auto source = factory_->wake_source(options());
  ASSERT_EQ(source->arm(), WakeSource::Armed::exact);
  std::stop_source stop;
  std::jthread asker([&] { stop.request_stop(); });
  EXPECT_FALSE(source->wait(far(), stop.get_token()));
}

TEST_F(SqliteWake, IsDeafWithoutAFile) {
  const auto source = factory_->wake_source({.url = "sqlite:" + file() + ".nowhere"});
  EXPECT_EQ(source->arm(), WakeSource::Armed::deaf);
  EXPECT_FALSE(source->wait(soon(), {}));
}

}  // namespace
}  // namespace pillarbox::sqlite
