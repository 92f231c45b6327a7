// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/session.h"

#include "pillarbox/error.h"
#include "sql/embedded.h"

namespace pillarbox::sqlite {

Session::Session(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer,
                 Connection::Options connection_options)
    : path_(parse_location(options.url).path),
      call_timeout_(options.call_timeout),
      connection_options_(connection_options),
      checkpointer_(std::move(checkpointer)) {}

Connection& Session::open() {
  if (connection_ != nullptr && !connection_->file_is_still_there()) {
    connection_.reset();
    throw Error(
        ErrorKind::unreachable, "PBX-4009",
        path_ +
            ": the file was deleted or replaced while it was open; the next call opens what is "
            "there now. Restore a database only while nothing uses it",
        {.connection_lost = true});
  }
  if (connection_ == nullptr) {
    auto fresh = std::make_unique<Connection>(path_, connection_options_);
    fresh->start_call(call_timeout_);
    check_schema(*fresh);
    connection_ = std::move(fresh);
  }
  connection_->start_call(call_timeout_);
  return *connection_;
}

void check_schema(Connection& connection) {
  int version = 0;
  {
    auto rows = connection.statement("version.sql", {}).query();
    if (rows.next()) version = static_cast<int>(rows.integer(0));
  }
  const int newest = sql::migrations(sql::sqlite_files()).back().number;
  if (version == newest) return;
  const std::string there =
      connection.path() + ": the outbox has schema " + std::to_string(version);
  const std::string ours = "this program knows " + std::to_string(newest);
  if (version == 0)
    throw Error(ErrorKind::schema, "PBX-3001",
                connection.path() + ": there is no outbox here; run `pillarbox migrate`");
  if (version > newest)
    throw Error(ErrorKind::schema, "PBX-3003", there + ", " + ours + "; use a newer pillarbox");
  if (version < newest - 1)
    throw Error(ErrorKind::schema, "PBX-3002", there + ", " + ours + "; run `pillarbox migrate`");
}

}  // namespace pillarbox::sqlite
