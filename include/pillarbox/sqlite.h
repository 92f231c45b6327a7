// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pillarbox/message.h"

struct sqlite3;

// Enqueue and inbox on YOUR connection, inside YOUR transaction. The connection stays yours;
// nothing is begun, committed or rolled back here, and it must be used by one thread at a time, as
// SQLite asks.
namespace pillarbox::sqlite {

// Writes the message as a row of the outbox of schema `main`; it exists exactly when your
// transaction commits. Outside a transaction it commits by itself, as any SQLite statement.
// Enqueueing a message_id again changes nothing and returns it. Throws Error(invalid_input) before
// any SQL; Error(schema) when `pillarbox migrate` was not run; Error(conflict) when the database is
// busy. After an error your transaction is as it was.
MessageId enqueue(sqlite3* connection, const NewMessage& message);

// True the first time this consumer sees the message, in the eyes of your transaction: do the
// effect and commit. False: it was handled, do nothing. Rolling back forgets it. consumer: 1 to 100
// characters.
[[nodiscard]] bool once(sqlite3* connection, std::string_view consumer, MessageId message_id);

// Adds the SQL function pillarbox_enqueue(job_type, payload [, ordering_key [, headers_json [,
// message_id]]]), which validates like enqueue() and returns the message_id as text.
void register_functions(sqlite3* connection);

}  // namespace pillarbox::sqlite
