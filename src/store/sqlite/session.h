// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/error.h"
#include "pillarbox/store.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/location.h"

namespace pillarbox::sqlite {

// What Store, StoreAdmin and WakeSource share: a connection that is opened when it is first needed,
// checked against the schema that this program knows, and thrown away when an error says so.
class Session {
 public:
  Session(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer,
          Connection::Options connection_options);

  // Runs `work(Connection&)` as one call: with its time limit, on a connection that is sound.
  template <class Work>
  auto call(Work&& work) {
    try {
      return work(open());
    } catch (const Error& error) {
      if (error.connection_lost()) connection_.reset();
      throw;
    }
  }
  // After a commit of ours.
  void committed(const Connection& connection) noexcept {
    checkpointer_->after_commit(connection.wal_pages());
  }

 private:
  Connection& open();

  const std::string path_;
  const Millis call_timeout_;
  const Connection::Options connection_options_;
  const std::shared_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<Connection> connection_;
};

// Throws Error(schema) when the outbox is missing, too old or too new for this program.
void check_schema(Connection& connection);

}  // namespace pillarbox::sqlite
