// SPDX-License-Identifier: Apache-2.0
// register_sqlite DATABASE EMAIL: registers an account and the e-mail that must follow, in one
// transaction.
#include <pillarbox/error.h>
#include <pillarbox/sqlite.h>
#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void run(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(db));
}

pillarbox::MessageId register_account(sqlite3* db, const std::string& email) {
  run(db, "begin immediate");
  try {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db, "insert into account (email) values (?)", -1, &statement, nullptr);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> owner(statement,
                                                                           &sqlite3_finalize);
    sqlite3_bind_text(statement, 1, email.c_str(), -1, SQLITE_TRANSIENT);
    if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db));

    const std::string account_id = std::to_string(sqlite3_last_insert_rowid(db));
    // [enqueue
    pillarbox::NewMessage message;
    message.job_type = "email.welcome.v1";
    message.payload = "{\"account_id\": " + account_id + "}";
    message.correlation_id = account_id;
    const pillarbox::MessageId id = pillarbox::sqlite::enqueue(db, message);
    // enqueue]

    run(db, "commit");  // both are there now, or neither
    return id;
  } catch (...) {
    sqlite3_exec(db, "rollback", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: register_sqlite DATABASE EMAIL\n", stderr);
    return 2;
  }
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(argv[1], &raw);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db(raw, &sqlite3_close);
  try {
    if (opened != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(raw));
    sqlite3_busy_timeout(raw, 5000);
    run(raw, "create table if not exists account (id integer primary key, email text unique)");
    std::puts(register_account(raw, argv[2]).to_string().c_str());
    return 0;
  } catch (const pillarbox::Error& error) {
    std::fprintf(stderr, "%s %s\n", std::string(error.code()).c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
