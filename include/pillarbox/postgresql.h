// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"

struct pg_conn;

// Enqueue and inbox on YOUR libpq connection, inside YOUR transaction. The connection stays yours;
// nothing is begun, committed or rolled back here, and it must be used by one thread at a time, as
// libpq asks. Not for a connection in pipeline mode. `schema` is where `pillarbox migrate` put the
// outbox.
namespace pillarbox::postgresql {

// Calls pillarbox.enqueue(). The message exists exactly when your transaction commits. Enqueueing a
// message_id again changes nothing and returns it. A message with an ordering_key locks that key
// until your transaction ends. Throws Error(invalid_input) before any SQL, so your transaction
// stays usable; after any other Error it is PostgreSQL's to say: usually aborted.
MessageId enqueue(pg_conn* connection, const NewMessage& message,
                  std::string_view schema = "pillarbox");

// Many messages in one statement; all or none. Keys are locked in one order, so two callers cannot
// deadlock here.
std::vector<MessageId> enqueue(pg_conn* connection, std::span<const NewMessage> messages,
                               std::string_view schema = "pillarbox");

// True the first time this consumer sees the message, in the eyes of your transaction: do the
// effect and commit. False: it was handled, do nothing. Rolling back forgets it. consumer: 1 to 100
// characters.
[[nodiscard]] bool once(pg_conn* connection, std::string_view consumer, MessageId message_id,
                        std::string_view schema = "pillarbox");

}  // namespace pillarbox::postgresql
