// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pillarbox/store.h"
#include "postgresql/session.h"

// Rows of the operator's statements, by the order of their columns.
namespace pillarbox::postgresql {

[[nodiscard]] MessageRow read_message_row(const Result& result, int row);  // list.sql
[[nodiscard]] AttemptRow read_attempt_row(const Result& result, int row);  // attempts.sql
[[nodiscard]] DeadLetter read_dead_letter(const Result& result, int row);  // dead_letters.sql
[[nodiscard]] RelayRow read_relay_row(const Result& result, int row);      // relays.sql

// "email.*" as a LIKE pattern: what LIKE takes for special is escaped.
[[nodiscard]] std::vector<std::string> like_patterns(const std::vector<std::string>& type_patterns);

}  // namespace pillarbox::postgresql
