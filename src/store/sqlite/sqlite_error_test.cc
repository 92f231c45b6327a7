// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_error.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace pillarbox::sqlite {
namespace {

struct Row {
  int code;
  const char* text;
  ErrorKind kind;
  const char* ours;
  bool connection_lost;
};

TEST(SqliteError, MapsEveryCodeThatACallerCanMeet) {
  const Row rows[] = {
      {SQLITE_BUSY, "database is locked", ErrorKind::conflict, "PBX-4003", false},
      {SQLITE_BUSY_SNAPSHOT, "database is locked", ErrorKind::conflict, "PBX-4003", false},
      {SQLITE_BUSY_RECOVERY, "database is locked", ErrorKind::conflict, "PBX-4003", false},
      {SQLITE_LOCKED, "database table is locked", ErrorKind::conflict, "PBX-4003", false},
      {SQLITE_SCHEMA, "database schema has changed", ErrorKind::conflict, "PBX-4003", false},
      {SQLITE_INTERRUPT, "interrupted", ErrorKind::timeout, "PBX-4002", false},
      {SQLITE_FULL, "database or disk is full", ErrorKind::refused, "PBX-4005", false},
      {SQLITE_READONLY, "attempt to write a readonly database", ErrorKind::refused, "PBX-4004",
       true},
      {SQLITE_READONLY_DBMOVED, "attempt to write a readonly database", ErrorKind::refused,
       "PBX-4004", true},
      {SQLITE_PERM, "access permission denied", ErrorKind::refused, "PBX-4007", true},
      {SQLITE_AUTH, "not authorized", ErrorKind::refused, "PBX-4007", true},
      {SQLITE_CORRUPT, "database disk image is malformed", ErrorKind::refused, "PBX-4006", true},
      {SQLITE_NOTADB, "file is not a database", ErrorKind::refused, "PBX-4006", true},
      {SQLITE_CANTOPEN, "unable to open database file", ErrorKind::unreachable, "PBX-4001", true},
      {SQLITE_IOERR_WRITE, "disk I/O error", ErrorKind::unreachable, "PBX-4008", true},
      {SQLITE_PROTOCOL, "locking protocol", ErrorKind::unreachable, "PBX-4008", true},
      {SQLITE_NOMEM, "out of memory", ErrorKind::unreachable, "PBX-4008", true},
      {SQLITE_CONSTRAINT_CHECK, "CHECK constraint failed: x", ErrorKind::invalid_input, "PBX-1050",
       false},
      {SQLITE_CONSTRAINT_TRIGGER, "headers must be", ErrorKind::invalid_input, "PBX-1050", false},
      {SQLITE_TOOBIG, "string or blob too big", ErrorKind::invalid_input, "PBX-1050", false},
      {SQLITE_ERROR, "no such table: pillarbox_outbox", ErrorKind::schema, "PBX-3001", false},
      {SQLITE_ERROR, "no such column: o.life", ErrorKind::schema, "PBX-3002", false},
      {SQLITE_ERROR, "near \"x\": syntax error", ErrorKind::internal, "PBX-4010", false},
      {SQLITE_MISUSE, "bad parameter or other API misuse", ErrorKind::internal, "PBX-4010", false},
      {SQLITE_RANGE, "column index out of range", ErrorKind::internal, "PBX-4010", false},
  };
  for (const Row& row : rows) {
    const Error error = map_error(row.code, row.text, "claim.sql");
    EXPECT_EQ(error.kind(), row.kind) << row.code;
    EXPECT_EQ(error.code(), row.ours) << row.code;
    EXPECT_EQ(error.connection_lost(), row.connection_lost) << row.code;
    EXPECT_EQ(error.native_code(), std::to_string(row.code));
    EXPECT_FALSE(error.in_doubt()) << row.code;
    const std::string what = error.what();
    EXPECT_NE(what.find("claim.sql"), std::string::npos) << what;
    EXPECT_NE(what.find(row.text), std::string::npos) << what;
  }
}

// A disk that fails while the log is synced may have kept the commit all the same.
TEST(SqliteError, OnlyAFailingDiskAtCommitLeavesTheOutcomeOpen) {
  EXPECT_TRUE(map_error(SQLITE_IOERR_FSYNC, "disk I/O error", "commit", true).in_doubt());
  EXPECT_FALSE(map_error(SQLITE_IOERR_FSYNC, "disk I/O error", "claim.sql").in_doubt());
  EXPECT_FALSE(map_error(SQLITE_FULL, "database or disk is full", "commit", true).in_doubt());
  EXPECT_FALSE(map_error(SQLITE_BUSY, "database is locked", "commit", true).in_doubt());
}

}  // namespace
}  // namespace pillarbox::sqlite
