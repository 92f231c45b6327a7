// SPDX-License-Identifier: Apache-2.0
#include "postgresql/session.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "core/assert.h"
#include "core/url.h"
#include "postgresql/errors.h"
#include "sql/embedded.h"

namespace pillarbox::postgresql {
namespace {

Instant now() { return std::chrono::steady_clock::now(); }

template <class Integer>
Integer read_big_endian(std::string_view bytes) {
  std::make_unsigned_t<Integer> bits = 0;
  for (const char c : bytes.substr(0, sizeof(Integer))) {
    bits = static_cast<std::make_unsigned_t<Integer>>((bits << (sizeof(Integer) > 1 ? 8U : 0U)) |
                                                      static_cast<unsigned char>(c));
  }
  return static_cast<Integer>(bits);
}

// Waits until the socket is ready; false at the deadline.
bool wait_ready(int socket, bool for_write, Instant deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<Millis>(deadline - now()).count();
    if (left <= 0) return false;
    pollfd entry{socket, static_cast<short>(for_write ? POLLOUT : POLLIN), 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // libpq will say what is wrong
  }
}

}  // namespace

std::string_view Result::bytes(int row, int column) const noexcept {
  return {PQgetvalue(handle_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(handle_.get(), row, column))};
}

std::int64_t Result::integer(int row, int column) const noexcept {
  const std::string_view value = bytes(row, column);
  switch (value.size()) {
    case 2:
      return read_big_endian<std::int16_t>(value);
    case 4:
      return read_big_endian<std::int32_t>(value);
    case 8:
      return read_big_endian<std::int64_t>(value);
    default:
      return 0;
  }
}

bool Result::boolean(int row, int column) const noexcept {
  const std::string_view value = bytes(row, column);
  return !value.empty() && value[0] != '\0';
}

MessageId Result::uuid(int row, int column) const noexcept {
  std::array<std::uint8_t, 16> id{};
  const std::string_view value = bytes(row, column);
  if (value.size() == id.size()) std::memcpy(id.data(), value.data(), id.size());
  return MessageId(id);
}

DbTime Result::time(int row, int column) const noexcept {
  constexpr std::int64_t kEpoch2000 = 946'684'800'000'000;
  return DbTime(integer(row, column) + kEpoch2000);
}

std::optional<DbTime> Result::micros(int row, int column) const noexcept {
  if (is_null(row, column)) return std::nullopt;
  return DbTime(integer(row, column));
}

Session::Session(Location location, const StoreOptions& options, std::string_view purpose,
                 Needs needs)
    : location_(std::move(location)),
      needs_(needs),
      password_(options.password),
      connect_timeout_(options.connect_timeout),
      call_timeout_(options.call_timeout),
      application_name_("pillarbox " + std::string(purpose)) {}

std::string Session::statement_text(std::string_view name) const {
  return sql::in_schema(
      sql::statement(sql::postgresql_files(), "statements/" + std::string(name) + ".sql"),
      location_.schema);
}

void Session::connect() {
  if (connection_) return;
  prepared_.clear();
  const std::string where = core::redact_url(location_.url);
  const std::string password =
      password_ ? password_->read() : std::string{};  // read anew: it may have been rotated
  // The URL is expanded as dbname and comes after our defaults, so that what it says wins.
  std::vector<const char*> keys = {"keepalives_idle",  "keepalives_interval", "keepalives_count",
                                   "tcp_user_timeout", "application_name",    "client_encoding"};
  std::vector<const char*> values = {"30", "10", "3", "30000", application_name_.c_str(), "UTF8"};
  if (location_.url.find("target_session_attrs") == std::string::npos &&
      location_.url.find(',') != std::string::npos) {
    keys.push_back("target_session_attrs");  // of several hosts, the primary
    values.push_back("read-write");
  }
  keys.push_back("dbname");
  values.push_back(location_.url.c_str());
  if (!password.empty()) {
    keys.push_back("password");
    values.push_back(password.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);

  const Instant deadline = now() + connect_timeout_;
  Connection made(PQconnectStartParams(keys.data(), values.data(), 1));
  if (!made) throw Error(ErrorKind::internal, "PBX-4010", "PostgreSQL: out of memory");
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (PQstatus(made.get()) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
         state != PGRES_POLLING_FAILED) {
    if (!wait_ready(PQsocket(made.get()), state == PGRES_POLLING_WRITING, deadline)) {
      throw Error(ErrorKind::unreachable, "PBX-4001",
                  "PostgreSQL at " + where + ": no connection within " +
                      std::to_string(connect_timeout_.count()) +
                      " ms; is it running, and is nothing in between dropping packets?",
                  {false, true, "08001"});
    }
    state = PQconnectPoll(made.get());
  }
  if (PQstatus(made.get()) != CONNECTION_OK) {
    std::string why = PQerrorMessage(made.get());
    while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
    throw Error(ErrorKind::unreachable, "PBX-4001", "PostgreSQL at " + where + ": " + why,
                {false, true, "08001"});
  }
  if (PQsetnonblocking(made.get(), 1) != 0)
    throw Error(ErrorKind::internal, "PBX-4010", "PostgreSQL: cannot set non-blocking");
  PQsetNoticeProcessor(
      made.get(), [](void*, const char*) {}, nullptr);
  connection_ = std::move(made);
  if (needs_ == Needs::outbox) check_schema();
}

void Session::check_schema() {
  static const int kNewest = sql::migrations(sql::postgresql_files()).back().number;
  try {
    const auto version = static_cast<int>(call("connect", {"version", {}}).integer(0, 0));
    const std::string there = "the outbox in schema '" + location_.schema + "' has version " +
                              std::to_string(version) + ", this program knows " +
                              std::to_string(kNewest);
    if (version > kNewest)
      throw Error(ErrorKind::schema, "PBX-3003", there + "; use a newer pillarbox");
    // One version of overlap, so that relays need not stop while the schema moves on.
    if (version < kNewest - 1)
      throw Error(ErrorKind::schema, "PBX-3002", there + "; run `pillarbox migrate`");
  } catch (...) {
    disconnect();
    throw;
  }
}

void Session::disconnect() noexcept {
  connection_.reset();
  prepared_.clear();
}

void Session::forget_if_ended() noexcept {
  if (!connection_ || PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) return;
  // Its last words come before the end of the stream.
  for (pollfd entry{PQsocket(connection_.get()), POLLIN, 0}; ::poll(&entry, 1, 0) > 0;) {
    if (PQconsumeInput(connection_.get()) == 1 && PQstatus(connection_.get()) == CONNECTION_OK)
      continue;
    disconnect();
    return;
  }
}

void Session::lost(std::string_view what, bool in_doubt) {
  std::string why = connection_ ? PQerrorMessage(connection_.get()) : "no connection";
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  disconnect();
  throw Error(ErrorKind::unreachable, "PBX-4001",
              "PostgreSQL, " + std::string(what) + ": the connection was lost: " + why,
              {in_doubt, true, "08006"});
}

void Session::wait_socket(std::string_view what, Instant deadline, bool in_doubt) {
  const int unsent = PQflush(connection_.get());
  if (unsent < 0) lost(what, in_doubt);
  const auto left = std::chrono::duration_cast<Millis>(deadline - now()).count();
  pollfd entry{PQsocket(connection_.get()), static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)),
               0};
  const int ready =
      left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 60'000)));
  if (ready < 0 && errno != EINTR) lost(what, in_doubt);
  if (ready == 0 && now() >= deadline) {
    // The server may hang or the network drop packets: neither answers a polite request, so the
    // connection goes.
    disconnect();
    throw Error(ErrorKind::timeout, "PBX-4002",
                "PostgreSQL, " + std::string(what) + ": no answer within " +
                    std::to_string(call_timeout_.count()) + " ms",
                {in_doubt, true, "57014"});
  }
  if (ready > 0 && PQconsumeInput(connection_.get()) == 0) lost(what, in_doubt);
}

ResultHandle Session::next_result(std::string_view what, Instant deadline, bool in_doubt) {
  while (PQisBusy(connection_.get()) == 1 || PQflush(connection_.get()) == 1)
    wait_socket(what, deadline, in_doubt);
  return ResultHandle(PQgetResult(connection_.get()));
}

void Session::send(const Call& call) {
  PGconn* c = connection_.get();
  const Parameters& p = call.parameters;
  int sent = 0;
  if (location_.prepared) {
    const std::string name = "pillarbox_" + std::string(call.name);
    if (prepared_.insert(name).second) {
      if (PQsendPrepare(c, name.c_str(), statement_text(call.name).c_str(), p.count(), p.types()) ==
          0) {
        lost(call.name, false);
      }
    }
    sent = PQsendQueryPrepared(c, name.c_str(), p.count(), p.values(), p.lengths(), p.formats(), 1);
  } else {
    sent = PQsendQueryParams(c, statement_text(call.name).c_str(), p.count(), p.types(), p.values(),
                             p.lengths(), p.formats(), 1);
  }
  if (sent == 0) lost(call.name, false);
}

void Session::roll_back() noexcept {
  if (!connection_ || PQtransactionStatus(connection_.get()) == PQTRANS_IDLE) return;
  try {
    const Instant deadline = now() + call_timeout_;
    if (PQsendQuery(connection_.get(), "rollback") == 0) lost("rollback", false);
    while (next_result("rollback", deadline, false)) {
    }
    if (PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) disconnect();
  } catch (const Error&) {
    disconnect();  // the server rolls back what nobody holds
  }
}

std::vector<Result> Session::run(std::string_view what, std::vector<Call>& calls) {
  forget_if_ended();
  connect();
  PGconn* c = connection_.get();
  const Instant deadline = now() + call_timeout_;
  std::vector<std::size_t> prepares;  // answers to expect before each call's own
  if (PQenterPipelineMode(c) == 0) lost(what, false);
  for (const Call& call : calls) {
    const std::size_t before = prepared_.size();
    send(call);
    prepares.push_back(prepared_.size() - before);
  }
  if (PQpipelineSync(c) == 0) lost(what, false);

  // The last call is the commit: once it was sent, a lost connection leaves us in doubt.
  const bool writes = calls.size() > 1;
  std::vector<Result> answers;
  std::optional<Error> first_error;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (std::size_t k = 0; k <= prepares[i]; ++k) {
      ResultHandle result = next_result(what, deadline, writes);
      if (!result) lost(what, writes);
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_FATAL_ERROR && !first_error) {
        const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        const char* words = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        const std::string sqlstate = state != nullptr ? state : "08006";
        first_error = make_error(sqlstate, what, words != nullptr ? words : PQerrorMessage(c),
                                 writes && meaning_of(sqlstate).connection_lost);
      }
      if (k == prepares[i] && !first_error) answers.emplace_back(std::move(result));
      // A null ends each statement's answers.
      while (ResultHandle more = next_result(what, deadline, writes)) static_cast<void>(more);
      if (PQstatus(c) == CONNECTION_BAD) break;
    }
    if (PQstatus(c) == CONNECTION_BAD) break;
  }
  if (first_error && (first_error->connection_lost() || PQstatus(c) == CONNECTION_BAD)) {
    disconnect();
    throw *first_error;
  }
  ResultHandle sync = next_result(what, deadline, writes);
  if (!sync || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC || PQexitPipelineMode(c) == 0)
    lost(what, writes);
  if (first_error) {
    // What was to be prepared in an aborted pipeline was not.
    roll_back();
    prepared_.clear();
    if (connection_ && location_.prepared) {
      try {
        execute("deallocate", "deallocate all");
      } catch (const Error&) {
        disconnect();
      }
    }
    throw *first_error;
  }
  return answers;
}

std::vector<Result> Session::transaction(std::string_view what, std::vector<Call> calls,
                                         std::string_view settings_statement) {
  const std::string limit_ms = std::to_string(call_timeout_.count());
  Call settings{settings_statement, {}};
  settings.parameters.text(limit_ms);
  calls.insert(calls.begin(), Call{"begin", {}});
  calls.insert(calls.begin() + 1, std::move(settings));
  calls.push_back(Call{"commit", {}});
  std::vector<Result> answers = run(what, calls);
  answers.erase(answers.begin(), answers.begin() + 2);
  answers.pop_back();
  return answers;
}

Result Session::call(std::string_view what, Call call) {
  std::vector<Call> calls;
  calls.push_back(std::move(call));
  return std::move(run(what, calls).front());
}

void Session::execute(std::string_view what, const std::string& sql) {
  connect();
  const Instant deadline = now() + call_timeout_;
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0) lost(what, false);
  std::optional<Error> first_error;
  while (ResultHandle result = next_result(what, deadline, true)) {
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR && !first_error) {
      const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      const char* words = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
      first_error = make_error(state != nullptr ? state : "08006", what,
                               words != nullptr ? words : "unknown", false);
    }
    if (PQstatus(connection_.get()) == CONNECTION_BAD) break;
  }
  if (first_error) {
    if (first_error->connection_lost() || PQstatus(connection_.get()) == CONNECTION_BAD)
      disconnect();
    roll_back();
    throw *first_error;
  }
}

}  // namespace pillarbox::postgresql
