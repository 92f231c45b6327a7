// SPDX-License-Identifier: Apache-2.0
// pillarbox_sqlite.so: `select load_extension('pillarbox_sqlite')` adds pillarbox_enqueue() to any
// program's connection.
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
// Needs SQLite's names first.
#include "store/sqlite/enqueue_on.h"

extern "C" __attribute__((visibility("default"))) int sqlite3_pillarboxsqlite_init(
    sqlite3* connection, char** /*error*/, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  return pillarbox::sqlite::add_enqueue_function(connection);
}
