// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/handle.h"
#include "pillarbox/message.h"

namespace pillarbox::sqlite {

using Database = core::Handle<sqlite3, &sqlite3_close>;
using Prepared = core::Handle<sqlite3_stmt, &sqlite3_finalize>;

struct Blob {  // bytes to bind as a blob
  std::string_view bytes;
};

// One statement of sql/sqlite/statements, prepared once. Values are bound in the order of the names
// it was asked for with; they must live until the statement is reset.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view name, std::string_view sql,
            std::span<const char* const> parameters);

  // Runs a statement that returns no rows; how many rows it changed.
  template <class... Values>
  std::int64_t run(const Values&... values) {
    bind_all(values...);
    return finish();
  }

  // Rows of one run. Resets the statement at its end, so no read transaction is left open.
  class Rows {
   public:
    explicit Rows(Statement& statement) : statement_(&statement) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { sqlite3_reset(statement_->prepared_.get()); }

    [[nodiscard]] bool next() { return statement_->step(); }
    [[nodiscard]] std::int64_t integer(int column) const {
      return sqlite3_column_int64(statement_->prepared_.get(), column);
    }
    [[nodiscard]] bool flag(int column) const { return integer(column) != 0; }
    [[nodiscard]] bool is_null(int column) const {
      return sqlite3_column_type(statement_->prepared_.get(), column) == SQLITE_NULL;
    }
    [[nodiscard]] std::string_view bytes(int column) const;  // of text or blob, until the next step
    [[nodiscard]] std::string text(int column) const { return std::string(bytes(column)); }
    [[nodiscard]] std::optional<std::int64_t> maybe(int column) const {
      return is_null(column) ? std::nullopt : std::optional(integer(column));
    }

   private:
    Statement* statement_;
  };

  template <class... Values>
  [[nodiscard]] Rows query(const Values&... values) {
    bind_all(values...);
    return Rows(*this);
  }

 private:
  friend class Rows;
  template <class... Values>
  void bind_all(const Values&... values) {
    check_count(sizeof...(values));
    std::size_t at = 0;
    (bind(slots_[at++], values), ...);
  }
  void check_count(std::size_t count) const;
  void bind(int slot, std::int64_t value);
  void bind(int slot, int value) { bind(slot, static_cast<std::int64_t>(value)); }
  void bind(int slot, bool value) { bind(slot, static_cast<std::int64_t>(value ? 1 : 0)); }
  void bind(int slot, RowId id) { bind(slot, to_int(id)); }
  void bind(int slot, Millis value) { bind(slot, static_cast<std::int64_t>(value.count())); }
  void bind(int slot, std::string_view value);
  void bind(int slot, const std::string& value) { bind(slot, std::string_view(value)); }
  void bind(int slot, const char* value) { bind(slot, std::string_view(value)); }
  void bind(int slot, const Blob& value);
  void bind(int slot, std::nullptr_t);
  template <class Value>
  void bind(int slot, const std::optional<Value>& value) {
    if (value) {
      bind(slot, *value);
    } else {
      bind(slot, nullptr);
    }
  }
  [[nodiscard]] bool step();
  std::int64_t finish();

  sqlite3* database_;
  std::string name_;
  Prepared prepared_;
  std::vector<int> slots_;
};

// One connection with Pillarbox's session settings: no checkpoint of its own, no mmap, waits for a
// writer until the deadline of the call. Used by one thread at a time.
class Connection {
 public:
  enum class Mode { existing, create };
  struct Options {
    Mode mode = Mode::existing;
    bool synchronous_full = true;
    std::int64_t cache_kib = 2048;
  };
  Connection(const std::string& path, Options options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until when the next statements may wait for the write lock, and run.
  void start_call(Millis timeout);

  Statement& statement(std::string_view file, std::initializer_list<const char*> parameters);
  void execute(const char* sql);  // session set-up: PRAGMA, BEGIN, COMMIT
  void execute_script(std::string_view sql, std::string_view where);
  [[nodiscard]] std::int64_t now();  // now.sql
  [[nodiscard]] std::string pragma(const char* sql);

  [[nodiscard]] sqlite3* raw() noexcept { return database_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Pages in the write-ahead log after our last commit.
  [[nodiscard]] int wal_pages() const noexcept { return wal_pages_; }
  // False when another file stands at the path now: a restored backup, a deleted database.
  [[nodiscard]] bool file_is_still_there() const;

 private:
  static int on_busy(void* self, int count) noexcept;
  static int on_commit(void* self, sqlite3*, const char*, int pages) noexcept;
  static int on_progress(void* self) noexcept;

  std::string path_;
  Database database_;
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> statements_;
  std::chrono::steady_clock::time_point deadline_;
  int wal_pages_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// Begins as told, rolls back unless committed. What may write begins as a writer: a reader that
// turns writer is refused at once when somebody else wrote meanwhile, and no waiting helps it.
class Transaction {
 public:
  enum class Kind { write, read };
  Transaction(Connection& connection, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace pillarbox::sqlite
