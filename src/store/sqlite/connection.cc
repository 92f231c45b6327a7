// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/connection.h"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "core/assert.h"
#include "sql/embedded.h"
#include "store/sqlite/sqlite_error.h"

namespace pillarbox::sqlite {
namespace {

constexpr std::int64_t kWalSizeLimit = 64LL * 1024 * 1024;
constexpr int kProgressSteps = 100'000;  // of SQLite's machine, well under a millisecond

[[noreturn]] void fail(sqlite3* database, int code, std::string_view where,
                       bool at_commit = false) {
  const int extended = database == nullptr ? code : sqlite3_extended_errcode(database);
  const char* text = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  throw map_error((extended & 0xff) == (code & 0xff) ? extended : code, text, where, at_commit);
}

}  // namespace

// ---- Statement

Statement::Statement(sqlite3* database, std::string_view name, std::string_view sql,
                     std::span<const char* const> parameters)
    : database_(database), name_(name) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  prepared_.reset(raw);
  if (code != SQLITE_OK) fail(database, code, name_);
  PILLARBOX_ASSERT(sqlite3_bind_parameter_count(raw) == static_cast<int>(parameters.size()));
  for (const char* parameter : parameters) {
    const int slot = sqlite3_bind_parameter_index(raw, parameter);
    PILLARBOX_ASSERT(slot > 0);
    slots_.push_back(slot);
  }
}

void Statement::check_count(std::size_t count) const { PILLARBOX_ASSERT(count == slots_.size()); }

void Statement::bind(int slot, std::int64_t value) {
  sqlite3_bind_int64(prepared_.get(), slot, value);
}

void Statement::bind(int slot, std::string_view value) {
  const int code =
      sqlite3_bind_text64(prepared_.get(), slot, value.data() == nullptr ? "" : value.data(),
                          value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(database_, code, name_);
}

void Statement::bind(int slot, const Blob& value) {
  const int code = sqlite3_bind_blob64(prepared_.get(), slot,
                                       value.bytes.data() == nullptr ? "" : value.bytes.data(),
                                       value.bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) fail(database_, code, name_);
}

void Statement::bind(int slot, std::nullptr_t) { sqlite3_bind_null(prepared_.get(), slot); }

bool Statement::step() {
  const int code = sqlite3_step(prepared_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  // The text must be read before the reset, which may replace it.
  const Error error =
      map_error(sqlite3_extended_errcode(database_), sqlite3_errmsg(database_), name_);
  sqlite3_reset(prepared_.get());
  throw error;
}

std::int64_t Statement::finish() {
  while (step()) {
  }
  sqlite3_reset(prepared_.get());
  return sqlite3_changes64(database_);
}

std::string_view Statement::Rows::bytes(int column) const {
  sqlite3_stmt* raw = statement_->prepared_.get();
  // column_blob gives text as it is stored and blobs alike; asking for text would cut nothing but
  // would add a terminator to each blob.
  const void* data = sqlite3_column_blob(raw, column);
  const int size = sqlite3_column_bytes(raw, column);
  return data == nullptr
             ? std::string_view{}
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

// ---- Connection

Connection::Connection(const std::string& path, Options options) : path_(path) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (options.mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  database_.reset(raw);
  if (code != SQLITE_OK) fail(raw, code, "open " + path);
  start_call(Millis(5'000));
  sqlite3_busy_handler(raw, &Connection::on_busy, this);
  sqlite3_progress_handler(raw, kProgressSteps, &Connection::on_progress, this);
  // Checkpoints are the checkpointer's alone: SQLite before 3.51.3 can damage the file when one
  // connection writes while another resets the log.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  execute("pragma wal_autocheckpoint = 0");
  sqlite3_wal_hook(raw, &Connection::on_commit, this);
  execute("pragma mmap_size = 0");
  execute(options.synchronous_full ? "pragma synchronous = full" : "pragma synchronous = normal");
  execute(("pragma journal_size_limit = " + std::to_string(kWalSizeLimit)).c_str());
  execute(("pragma cache_size = -" + std::to_string(options.cache_kib)).c_str());
  execute("pragma temp_store = memory");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

void Connection::start_call(Millis timeout) {
  deadline_ = std::chrono::steady_clock::now() + timeout;
}

int Connection::on_busy(void* self, int count) noexcept {
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = static_cast<Connection*>(self)->deadline_;
  if (now >= deadline) return 0;
  // Most writers need less than a millisecond: look often at first, then every 4 ms.
  const auto pause = std::chrono::microseconds(std::min(4'000, 100 << std::min(count, 6)));
  std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(pause, deadline - now));
  return 1;
}

int Connection::on_commit(void* self, sqlite3*, const char*, int pages) noexcept {
  static_cast<Connection*>(self)->wal_pages_ = pages;
  return SQLITE_OK;
}

int Connection::on_progress(void* self) noexcept {
  // Twice the time for waiting: a statement that had to wait still gets its own.
  const auto* connection = static_cast<Connection*>(self);
  return std::chrono::steady_clock::now() > connection->deadline_ + std::chrono::seconds(5) ? 1 : 0;
}

Statement& Connection::statement(std::string_view file,
                                 std::initializer_list<const char*> parameters) {
  const auto found = statements_.find(file);
  if (found != statements_.end()) return *found->second;
  const std::string name = "statements/" + std::string(file);
  auto made = std::make_unique<Statement>(
      database_.get(), file, sql::statement(sql::sqlite_files(), name),
      std::span<const char* const>(parameters.begin(), parameters.size()));
  return *statements_.emplace(std::string(file), std::move(made)).first->second;
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), code, sql, std::string_view(sql) == "commit");
}

void Connection::execute_script(std::string_view sql, std::string_view where) {
  const std::string text(sql);
  const int code = sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), code, where);
}

std::int64_t Connection::now() {
  auto rows = statement("now.sql", {}).query();
  PILLARBOX_ASSERT(rows.next());
  return rows.integer(0);
}

std::string Connection::pragma(const char* sql) {
  Statement statement(database_.get(), sql, sql, {});
  auto rows = statement.query();
  return rows.next() ? rows.text(0) : std::string();
}

bool Connection::file_is_still_there() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// ---- Transaction

Transaction::Transaction(Connection& connection, Kind kind) : connection_(connection) {
  connection.execute(kind == Kind::write ? "begin immediate" : "begin");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(connection_.raw(), "rollback", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("commit");
  open_ = false;
}

}  // namespace pillarbox::sqlite
