// SPDX-License-Identifier: Apache-2.0
// pillarbox/postgresql.h: enqueue and inbox on the application's own connection.
#include "store/postgresql/producer.h"

#include <libpq-fe.h>

#include <cstring>
#include <deque>

#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"
#include "pillarbox/postgresql.h"
#include "postgresql/errors.h"
#include "postgresql/session.h"
#include "sql/embedded.h"

namespace pillarbox::postgresql {
namespace {

Result run(PGconn* connection, std::string_view statement, const Parameters& p,
           std::string_view schema) {
  if (connection == nullptr)
    throw Error(ErrorKind::unreachable, "PBX-4001", "there is no connection",
                {.connection_lost = true});
  const std::string text = sql::in_schema(
      sql::statement(sql::postgresql_files(), "statements/" + std::string(statement) + ".sql"),
      schema);
  ResultHandle result(PQexecParams(connection, text.c_str(), p.count(), p.types(), p.values(),
                                   p.lengths(), p.formats(), 1));
  if (result && PQresultStatus(result.get()) == PGRES_TUPLES_OK) return Result(std::move(result));
  const char* state = result ? PQresultErrorField(result.get(), PG_DIAG_SQLSTATE) : nullptr;
  const char* words = result ? PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  throw make_error(state != nullptr ? state : "08006", statement,
                   words != nullptr ? words : PQerrorMessage(connection),
                   PQstatus(connection) == CONNECTION_BAD);
}

}  // namespace

EnqueueText::EnqueueText(const NewMessage& message)
    : message_(message),
      headers_(message.headers.empty() ? std::string{} : json::write_headers(message.headers)) {}

Parameters EnqueueText::parameters() const {
  Parameters p;
  p.text(message_.job_type)
      .bytes(message_.payload)
      .text(message_.content_type)
      .text_or_null(headers_);
  if (message_.message_id) {
    p.uuid(*message_.message_id);
  } else {
    p.null(kUuid);
  }
  p.text_or_null(message_.correlation_id)
      .text_or_null(message_.ordering_key)
      .int8(message_.delay.count());
  if (message_.expires_in) {
    p.int8(message_.expires_in->count());
  } else {
    p.null(kInt8);
  }
  return p;
}

MessageId enqueue(pg_conn* connection, const NewMessage& message, std::string_view schema) {
  validate(message);
  const EnqueueText text(message);
  return run(connection, "enqueue", text.parameters(), schema).uuid(0, 0);
}

EnqueueManyText::EnqueueManyText(std::span<const NewMessage> messages) {
  for (const NewMessage& message : messages) {
    types_.emplace_back(message.job_type);
    payloads_.emplace_back(message.payload);
    content_types_.emplace_back(message.content_type);
    headers_.push_back(json::write_headers(message.headers));
    ids_.push_back(message.message_id ? *message.message_id : MessageId::make());
    correlation_ids_.emplace_back(message.correlation_id);
    keys_.emplace_back(message.ordering_key);
    delays_.push_back(message.delay.count());
    expiries_.push_back(message.expires_in ? std::optional(message.expires_in->count())
                                           : std::nullopt);
  }
}

Parameters EnqueueManyText::parameters() const {
  Parameters p;
  p.text_array(types_).bytes_array(payloads_).text_array(content_types_).text_array(headers_);
  p.uuid_array(ids_).text_array(correlation_ids_).text_array(keys_).int8_array(delays_);
  p.nullable_int8_array(expiries_);
  return p;
}

std::vector<MessageId> ids_of(const Result& result) {
  std::vector<MessageId> out;
  out.reserve(static_cast<std::size_t>(result.rows()));
  for (int row = 0; row < result.rows(); ++row) out.push_back(result.uuid(row, 0));
  return out;
}

std::vector<MessageId> enqueue(pg_conn* connection, std::span<const NewMessage> messages,
                               std::string_view schema) {
  if (messages.empty()) return {};
  for (const NewMessage& message : messages) validate(message);
  const EnqueueManyText text(messages);
  return ids_of(run(connection, "enqueue_many", text.parameters(), schema));
}

bool once(pg_conn* connection, std::string_view consumer, MessageId message_id,
          std::string_view schema) {
  const auto length = core::utf8_length(consumer);
  if (!length || *length < 1 || *length > 100)
    throw Error(ErrorKind::invalid_input, "PBX-1010",
                "the consumer's name must have 1 to 100 characters");
  Parameters p;
  p.text(consumer).uuid(message_id);
  return run(connection, "once", p, schema).boolean(0, 0);
}

}  // namespace pillarbox::postgresql
