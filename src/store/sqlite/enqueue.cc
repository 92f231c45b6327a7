// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "pillarbox/sqlite.h"
// Needs SQLite's names first.
#include "store/sqlite/enqueue_on.h"

namespace pillarbox::sqlite {

MessageId enqueue(sqlite3* connection, const NewMessage& message) {
  return enqueue_on(connection, message);
}

bool once(sqlite3* connection, std::string_view consumer, MessageId message_id) {
  return once_on(connection, consumer, message_id);
}

void register_functions(sqlite3* connection) {
  const int code = add_enqueue_function(connection);
  if (code != SQLITE_OK) throw map_error(code, sqlite3_errmsg(connection), "pillarbox_enqueue");
}

}  // namespace pillarbox::sqlite
