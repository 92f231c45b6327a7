// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/handle.h"
#include "pillarbox/error.h"
#include "pillarbox/store.h"
#include "postgresql/location.h"
#include "postgresql/parameters.h"

namespace pillarbox::postgresql {

using Connection = core::Handle<PGconn, &PQfinish>;
using ResultHandle = core::Handle<PGresult, &PQclear>;

// One answer, all columns in binary format. Reads are by column number, in the order of the
// statement's text.
class Result {
 public:
  explicit Result(ResultHandle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] int rows() const noexcept { return PQntuples(handle_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const noexcept {
    return PQgetisnull(handle_.get(), row, column) == 1;
  }
  [[nodiscard]] std::string_view bytes(int row,
                                       int column) const noexcept;  // text too; empty when null
  [[nodiscard]] std::string text(int row, int column) const {
    return std::string(bytes(row, column));
  }
  [[nodiscard]] std::int64_t integer(int row,
                                     int column) const noexcept;  // int2, int4, int8; 0 when null
  [[nodiscard]] bool boolean(int row, int column) const noexcept;
  [[nodiscard]] MessageId uuid(int row, int column) const noexcept;
  [[nodiscard]] DbTime time(int row, int column) const noexcept;  // of a timestamptz
  [[nodiscard]] std::optional<DbTime> micros(
      int row, int column) const noexcept;  // of an int8 in microseconds

 private:
  ResultHandle handle_;
};

// A statement file with its parameters.
struct Call {
  std::string_view name;  // of the file in statements/, without ".sql"
  Parameters parameters;
};

// A connection that is made when it is needed and made anew after it was lost. Every wait has a
// deadline. One thread at a time. Statements are the embedded files, in the location's schema.
class Session {
 public:
  enum class Needs { outbox, nothing };  // outbox: its schema is checked when we connect

  Session(Location location, const StoreOptions& options, std::string_view purpose,
          Needs needs = Needs::outbox);

  // The calls in one transaction (READ COMMITTED) and one round trip, each with the call's time
  // limit; one answer for each call. Throws Error; the transaction was then rolled back, or is in
  // doubt.
  // `settings_statement` runs first, with the time limit as its parameter; it has no answer.
  std::vector<Result> transaction(std::string_view what, std::vector<Call> calls,
                                  std::string_view settings_statement = "settings");

  // One call by itself.
  Result call(std::string_view what, Call call);

  // Plain text, perhaps several statements, as a migration is. One transaction if it says so
  // itself.
  void execute(std::string_view what, const std::string& sql);

  void connect();
  // Notices that the server has ended an idle connection, and forgets it: nothing was sent, so the
  // next call may simply make another.
  void forget_if_ended() noexcept;
  void disconnect() noexcept;
  [[nodiscard]] bool is_connected() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] PGconn* raw() const noexcept { return connection_.get(); }
  [[nodiscard]] const Location& location() const noexcept { return location_; }
  [[nodiscard]] std::string statement_text(std::string_view name) const;

  void set_timeout(Millis timeout) { call_timeout_ = timeout; }

 private:
  void send(const Call& call);
  void wait_socket(std::string_view what, Instant deadline, bool in_doubt);
  ResultHandle next_result(std::string_view what, Instant deadline, bool in_doubt);
  [[noreturn]] void lost(std::string_view what, bool in_doubt);
  std::vector<Result> run(std::string_view what, std::vector<Call>& calls);
  void roll_back() noexcept;
  void check_schema();

  Location location_;
  Needs needs_;
  std::shared_ptr<const Secret> password_;
  Millis connect_timeout_;
  Millis call_timeout_;
  std::string application_name_;
  Connection connection_;
  std::set<std::string, std::less<>> prepared_;
};

// Runs `work` again on deadlock, serialization failure and stale statements, a bounded number of
// times.
template <class Work>
auto repeat_on_conflict(Work&& work) {
  constexpr int kTries = 5;
  for (int i = 1;; ++i) {
    try {
      return work();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::conflict || i == kTries) throw;
    }
  }
}

}  // namespace pillarbox::postgresql
