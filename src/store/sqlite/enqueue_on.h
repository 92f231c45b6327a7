// SPDX-License-Identifier: Apache-2.0
// Enqueue, inbox and the SQL function on a caller's connection. Compiled twice: into the library
// after <sqlite3.h>, and into the loadable module after <sqlite3ext.h>, whose macros send each call
// through the host's own SQLite. Include exactly one of them first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/handle.h"
#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"
#include "pillarbox/message.h"
#include "sql/embedded.h"
#include "store/sqlite/sqlite_error.h"

namespace pillarbox::sqlite {
namespace {

class CallersStatement {
 public:
  CallersStatement(sqlite3* connection, std::string_view file)
      : connection_(connection), where_(file) {
    const std::string_view text =
        sql::statement(sql::sqlite_files(), "statements/" + std::string(file));
    const int code = sqlite3_prepare_v2(connection, text.data(), static_cast<int>(text.size()),
                                        &statement_, nullptr);
    if (code != SQLITE_OK) fail(code);
  }
  CallersStatement(const CallersStatement&) = delete;
  CallersStatement& operator=(const CallersStatement&) = delete;
  ~CallersStatement() { sqlite3_finalize(statement_); }

  // Values must outlive run().
  void text(const char* parameter, std::string_view value) {
    check(sqlite3_bind_text64(statement_, index(parameter), value.data(), value.size(),
                              SQLITE_STATIC, SQLITE_UTF8));
  }
  void text_or_null(const char* parameter, std::string_view value) {
    if (!value.empty()) text(parameter, value);  // what is not bound is null
  }
  void blob(const char* parameter, std::string_view value) {
    check(sqlite3_bind_blob64(statement_, index(parameter), value.empty() ? "" : value.data(),
                              value.size(), SQLITE_STATIC));
  }
  void integer(const char* parameter, std::int64_t value) {
    check(sqlite3_bind_int64(statement_, index(parameter), value));
  }
  // How many rows it changed.
  int run() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_DONE) fail(code);
    return sqlite3_changes(connection_);
  }

 private:
  int index(const char* parameter) const {
    return sqlite3_bind_parameter_index(statement_, parameter);
  }
  void check(int code) {
    if (code != SQLITE_OK) fail(code);
  }
  [[noreturn]] void fail(int code) {
    const int extended = sqlite3_extended_errcode(connection_);
    throw map_error((extended & 0xff) == (code & 0xff) ? extended : code,
                    sqlite3_errmsg(connection_), where_);
  }

  sqlite3* connection_;
  std::string where_;
  sqlite3_stmt* statement_ = nullptr;
};

// Text where tools should show it as text; else bytes.
inline bool is_text(const NewMessage& message) {
  if (json::is_json_type(message.content_type)) return true;
  return message.content_type.starts_with("text/") &&
         message.payload.find('\0') == std::string::npos &&
         core::utf8_length(message.payload).has_value();
}

inline MessageId enqueue_on(sqlite3* connection, const NewMessage& message) {
  validate(message);
  const MessageId id = message.message_id ? *message.message_id : MessageId::make();
  const std::string id_text = id.to_string();
  const std::string headers = json::write_headers(message.headers);
  CallersStatement insert(connection, "enqueue.sql");
  insert.text(":message_id", id_text);
  insert.text(":job_type", message.job_type);
  insert.text(":content_type", message.content_type);
  if (is_text(message)) {
    insert.text(":payload", message.payload);
  } else {
    insert.blob(":payload", message.payload);
  }
  insert.text(":headers", headers);
  insert.text_or_null(":correlation_id", message.correlation_id);
  insert.text_or_null(":ordering_key", message.ordering_key);
  insert.integer(":delay_ms", message.delay.count());
  if (message.expires_in) insert.integer(":expires_in_ms", message.expires_in->count());
  insert.run();
  return id;
}

inline bool once_on(sqlite3* connection, std::string_view consumer, MessageId message_id) {
  const auto length = core::utf8_length(consumer);
  if (!length || *length == 0 || *length > 100 || consumer.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::invalid_input, "PBX-1010",
                "consumer must be 1 to 100 characters of UTF-8 without NUL");
  const std::string id_text = message_id.to_string();
  CallersStatement insert(connection, "inbox_once.sql");
  insert.text(":consumer", consumer);
  insert.text(":message_id", id_text);
  return insert.run() == 1;
}

// ---- pillarbox_enqueue(job_type, payload [, ordering_key [, headers_json [, message_id]]])

inline std::string value_bytes(sqlite3_value* value) {
  const void* data = sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  return data == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

inline NewMessage message_from(int count, sqlite3_value** values) {
  NewMessage message;
  message.job_type = value_bytes(values[0]);
  message.payload = value_bytes(values[1]);
  if (sqlite3_value_type(values[1]) == SQLITE_BLOB)
    message.content_type = "application/octet-stream";
  if (count > 2) message.ordering_key = value_bytes(values[2]);
  if (count > 3 && sqlite3_value_type(values[3]) != SQLITE_NULL) {
    auto headers = json::parse_headers(value_bytes(values[3]));
    if (!headers)
      throw Error(ErrorKind::invalid_input, "PBX-1005", "headers must be a JSON object of strings");
    message.headers = std::move(*headers);
  }
  if (count > 4 && sqlite3_value_type(values[4]) != SQLITE_NULL) {
    message.message_id = MessageId::parse(value_bytes(values[4]));
    if (!message.message_id)
      throw Error(ErrorKind::invalid_input, "PBX-1011", "message_id must be a UUID");
  }
  return message;
}

inline void enqueue_function(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  try {
    const std::string id =
        enqueue_on(sqlite3_context_db_handle(context), message_from(count, values)).to_string();
    sqlite3_result_text(context, id.data(), static_cast<int>(id.size()), SQLITE_TRANSIENT);
  } catch (const Error& error) {
    const std::string text = std::string(error.code()) + ": " + error.what();
    sqlite3_result_error(context, text.data(), static_cast<int>(text.size()));
  } catch (const std::exception& error) {
    sqlite3_result_error(context, error.what(), -1);
  }
}

inline int add_enqueue_function(sqlite3* connection) {
  for (int count = 2; count <= 5; ++count) {
    // DIRECTONLY: a view or trigger of a stranger's database cannot enqueue.
    const int code = sqlite3_create_function_v2(connection, "pillarbox_enqueue", count,
                                                SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr,
                                                &enqueue_function, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

}  // namespace
}  // namespace pillarbox::sqlite
