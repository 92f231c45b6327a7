// SPDX-License-Identifier: Apache-2.0
// What the SQLite store can do by itself: claim and settle a backlog in batches, through Store, and
// enqueue through SQL beside a bare insert into an equal table. Prints medians of several runs with
// their range.
//   sqlite_store_bench [ROWS] [BATCH] [RUNS]
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sql/embedded.h"
#include "store/sqlite/factory.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& act) {
  const auto begun = Clock::now();
  act();
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

void report(const char* what, std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  std::printf("%-62s %9.0f /s  (%.0f - %.0f)\n", what, rates[rates.size() / 2], rates.front(),
              rates.back());
}

void run(sqlite3* db, const std::string& sql) {
  char* error = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
    std::fprintf(stderr, "%s\n", error);
    std::exit(1);
  }
}

std::string payload_of_300_bytes() { return "{\"order\":\"" + std::string(288, 'x') + "\"}"; }

struct File {
  std::string path;
  explicit File(const std::string& name)
      : path((std::filesystem::temp_directory_path() / (name + std::to_string(::getpid())))
                 .string()) {}
  ~File() {
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
  }
};

// Inserts `rows`, `batch` a transaction, as a producer does; seconds.
double insert(sqlite3* db, const char* sql, int rows, int batch) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) {
    std::fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    std::exit(1);
  }
  const std::string payload = payload_of_300_bytes();
  const double seconds = seconds_of([&] {
    for (int i = 0; i < rows;) {
      run(db, "begin immediate");
      for (int k = 0; k < batch && i < rows; ++k, ++i) {
        sqlite3_bind_text(statement, 1, "email.partner-verification.v1", -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, payload.data(), static_cast<int>(payload.size()),
                          SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE) {
          std::fprintf(stderr, "%s\n", sqlite3_errmsg(db));
          std::exit(1);
        }
        sqlite3_reset(statement);
      }
      run(db, "commit");
    }
  });
  sqlite3_finalize(statement);
  return seconds;
}

// The outbox's columns, defaults and indexes without its constraints and trigger.
std::string bare_schema() {
  std::string text = pillarbox::sql::migrations(pillarbox::sql::sqlite_files()).front().sql;
  const auto cut = [&](const std::string& from, const std::string& to, const std::string& with) {
    const auto begin = text.find(from);
    const auto end = text.find(to, begin);
    text.replace(begin, end - begin, with);
  };
  cut("create trigger", "-- ---- for people", "");
  cut("payload        any", ") strict;", "payload any not null\n");
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 200'000;
  const int batch = argc > 2 ? std::atoi(argv[2]) : 500;
  const int runs = argc > 3 ? std::atoi(argv[3]) : 3;
  using namespace pillarbox;
  const auto factory = sqlite::make_factory();
  std::printf("SQLite %s, %d rows of 300 bytes, batches of %d, %d runs: median (range)\n",
              sqlite3_libversion(), rows, batch, runs);
  for (const bool keep : {true, false}) {
    std::vector<double> rates;
    for (int r = 0; r < runs; ++r) {
      const File file("pillarbox-bench-");
      StoreOptions options{.url = "sqlite:" + file.path, .claimed_by = "bench:1:aaaaaaaa"};
      options.keep_dispatched = keep;
      factory->schema(options)->up({}, nullptr);
      sqlite3* db = nullptr;
      sqlite3_open(file.path.c_str(), &db);
      insert(db, "insert into pillarbox_outbox (job_type, payload) values (?, ?)", rows, 1000);
      const auto store = factory->connect(options);
      int settled = 0;
      const double seconds = seconds_of([&] {
        for (;;) {
          const ClaimResult claimed = store->claim({.count_max = static_cast<std::size_t>(batch)});
          if (claimed.messages.empty()) break;
          std::vector<Settlement> settlements;
          settlements.reserve(claimed.messages.size());
          for (const ClaimedMessage& message : claimed.messages)
            settlements.push_back({.lease = message.lease, .kind = SettleKind::dispatched});
          if (!store->settle(settlements).empty()) std::exit(1);
          settled += static_cast<int>(settlements.size());
        }
      });
      if (settled != rows) std::exit(1);
      rates.push_back(rows / seconds);
      sqlite3_close(db);
    }
    report(keep ? "claim + settle, dispatched rows kept" : "claim + settle, dispatched rows leave",
           rates);
  }
  for (const int per : {1, 100}) {
    std::vector<double> ours;
    std::vector<double> bare;
    for (int r = 0; r < runs; ++r) {
      for (const bool is_ours : {true, false}) {
        const File file("pillarbox-bench-");
        sqlite3* db = nullptr;
        sqlite3_open(file.path.c_str(), &db);
        run(db, "pragma journal_mode = wal; pragma synchronous = full");
        run(db, is_ours ? sql::migrations(sql::sqlite_files()).front().sql : bare_schema());
        const int count = per == 1 ? rows / 5 : rows;
        const double seconds = insert(
            db, "insert into pillarbox_outbox (job_type, payload) values (?, ?)", count, per);
        (is_ours ? ours : bare).push_back(count / seconds);
        sqlite3_close(db);
      }
    }
    const std::string tail = ", " + std::to_string(per) + " a transaction, synchronous=full";
    report(("enqueue by plain INSERT" + tail).c_str(), ours);
    report(("the same into an equal table without our constraints" + tail).c_str(), bare);
  }
}
