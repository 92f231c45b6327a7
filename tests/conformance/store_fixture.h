// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pillarbox/store.h"

namespace pillarbox::testing {

// A producer of its own session, speaking the store's public SQL as any language would.
class ProducerSession {
 public:
  virtual ~ProducerSession() = default;
  virtual void begin() = 0;
  virtual MessageId enqueue(const NewMessage& message) = 0;  // outside begin(): commits by itself
  virtual void savepoint(std::string_view name) = 0;
  virtual void rollback_to(std::string_view name) = 0;
  virtual void commit() = 0;
  virtual void rollback() = 0;
  [[nodiscard]] virtual bool once(std::string_view consumer, MessageId message_id) = 0;
};

// One fresh outbox for one test. Everything is real but the passing of time: nobody sleeps through
// a lease.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  [[nodiscard]] virtual const StoreFactory& factory() const = 0;
  [[nodiscard]] virtual StoreOptions options() const = 0;  // of this test's outbox

  [[nodiscard]] std::unique_ptr<Store> connect(std::string claimed_by = "host-a:1:aaaaaaaa",
                                               bool keep_dispatched = true) {
    StoreOptions chosen = options();
    chosen.claimed_by = std::move(claimed_by);
    chosen.keep_dispatched = keep_dispatched;
    return factory().connect(chosen);
  }
  [[nodiscard]] std::unique_ptr<StoreAdmin> connect_admin() {
    return factory().connect_admin(options());
  }
  [[nodiscard]] virtual std::unique_ptr<ProducerSession> producer() = 0;
  MessageId enqueue(const NewMessage& message) { return producer()->enqueue(message); }

  // Moves the row's times (occurred_at, available_at, expires_at, locked_until, dispatched_at and
  // those of its dead letter) back by this long, by the owner's rights.
  virtual void age(RowId id, Millis by) = 0;

  // Edits a row by hand, as somebody with the owner's rights might: one column of the outbox, value
  // as SQL text. False when the store has no such hand (memory) or its constraints refuse the
  // value.
  virtual bool tamper(RowId id, std::string_view column, std::string_view sql_value) = 0;

  // Cuts every connection that the store's sessions hold; false when there is nothing to cut.
  virtual bool break_connections() = 0;
};

// One way to run the suite: "SQLite", "PostgreSQL15", "PostgreSQL15Pgbouncer" …
struct StoreParam {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
};
inline void PrintTo(const StoreParam& param, std::ostream* out) { *out << param.name; }

}  // namespace pillarbox::testing
