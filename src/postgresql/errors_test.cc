// SPDX-License-Identifier: Apache-2.0
#include "postgresql/errors.h"

#include <gtest/gtest.h>

namespace pillarbox::postgresql {
namespace {

TEST(SqlState, SaysWhatACallerCanDo) {
  struct Row {
    std::string_view sqlstate;
    ErrorKind kind;
    std::string_view code;
    bool connection_lost;
  };
  using enum ErrorKind;
  const Row rows[] = {
      {"PB001", invalid_input, "PBX-1013", false},  // pillarbox.enqueue() refused the message
      {"23514", invalid_input, "PBX-1050", false},  // check_violation
      {"22021", invalid_input, "PBX-1050", false},  // not in the server's encoding
      {"40001", conflict, "PBX-4003", false},       // serialization_failure
      {"40P01", conflict, "PBX-4003", false},       // deadlock_detected
      {"55P03", conflict, "PBX-4003", false},       // lock_not_available
      {"0A000", conflict, "PBX-4003", false},       // cached plan must not change result type
      {"26000", conflict, "PBX-4003", false},       // prepared statement does not exist
      {"57014", timeout, "PBX-4002", false},        // query_canceled
      {"25006", refused, "PBX-4004", true},         // read_only_sql_transaction
      {"08006", unreachable, "PBX-4001", true},     // connection_failure
      {"57P01", unreachable, "PBX-4001", true},     // admin_shutdown
      {"57P03", unreachable, "PBX-4001", true},     // cannot_connect_now
      {"53300", unreachable, "PBX-4001", true},     // too_many_connections
      {"28P01", unreachable, "PBX-4007", true},     // invalid_password
      {"3D000", unreachable, "PBX-4007", true},     // no such database
      {"42P01", schema, "PBX-3001", false},         // undefined_table
      {"3F000", schema, "PBX-3001", false},         // invalid_schema_name
      {"42703", schema, "PBX-3002", false},         // undefined_column
      {"42883", schema, "PBX-3002", false},         // undefined_function
      {"42501", refused, "PBX-4007", false},        // insufficient_privilege
      {"53100", refused, "PBX-4005", false},        // disk_full
      {"58030", refused, "PBX-4008", false},        // io_error
      {"XX001", refused, "PBX-4006", false},        // data_corrupted
      {"XX000", internal, "PBX-4010", false},       // internal_error
      {"", internal, "PBX-4010", false},
  };
  for (const Row& row : rows) {
    const Meaning meaning = meaning_of(row.sqlstate);
    EXPECT_EQ(meaning.kind, row.kind) << row.sqlstate;
    EXPECT_EQ(meaning.code, row.code) << row.sqlstate;
    EXPECT_EQ(meaning.connection_lost, row.connection_lost) << row.sqlstate;
  }
}

TEST(SqlState, OfAnErrorIsKeptBesideWhatToDo) {
  const Error error = make_error("25006", "claim", "cannot execute UPDATE\n", false);
  EXPECT_EQ(error.native_code(), "25006");
  EXPECT_EQ(std::string_view(error.what()),
            "PostgreSQL, claim: cannot execute UPDATE (the server is read-only; a list of hosts in "
            "the URL finds the primary)");
}

}  // namespace
}  // namespace pillarbox::postgresql
