// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "pillarbox/store.h"
#include "store/sqlite/connection.h"

// Rows of the operator's statements, by the order of their columns.
namespace pillarbox::sqlite {

[[nodiscard]] inline DbTime time_of(std::int64_t milliseconds) {
  return DbTime{milliseconds * 1000};
}
[[nodiscard]] std::optional<DbTime> maybe_time(const Statement::Rows& rows, int column);

// Of list_row.sql: the message, and why it died when it did.
struct ListedRow {
  MessageRow row;
  std::optional<DeadReason> reason;
};
[[nodiscard]] ListedRow read_listed_row(const Statement::Rows& rows);
[[nodiscard]] AttemptRow read_attempt(const Statement::Rows& rows);      // attempts.sql
[[nodiscard]] DeadLetter read_dead_letter(const Statement::Rows& rows);  // dead_letters.sql
[[nodiscard]] RelayRow read_relay(const Statement::Rows& rows);          // relays.sql

// Whether a message, or a dead letter, meets every condition.
[[nodiscard]] bool matches(const Filter& filter, const ListedRow& listed, DbTime now);
[[nodiscard]] bool matches(const Filter& filter, const DeadLetter& letter);

}  // namespace pillarbox::sqlite
