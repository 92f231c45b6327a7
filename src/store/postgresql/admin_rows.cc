// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/admin_rows.h"

#include "json/json.h"

namespace pillarbox::postgresql {

MessageRow read_message_row(const Result& result, int row) {
  MessageRow out;
  int c = 0;
  out.id = RowId(result.integer(row, c++));
  out.message_id = result.uuid(row, c++);
  out.job_type = result.text(row, c++);
  out.status = static_cast<Status>(result.integer(row, c++));
  out.view = result.text(row, c++);
  out.content_type = result.text(row, c++);
  out.payload_bytes = result.integer(row, c++);
  if (!result.is_null(row, c))
    out.headers = json::parse_headers(result.bytes(row, c)).value_or(Headers{});
  ++c;
  out.correlation_id = result.text(row, c++);
  out.ordering_key = result.text(row, c++);
  out.occurred_at = result.micros(row, c++).value_or(DbTime{});
  out.available_at = result.micros(row, c++).value_or(DbTime{});
  out.expires_at = result.micros(row, c++);
  out.claimed_by = result.text(row, c++);
  out.locked_until = result.micros(row, c++);
  out.claim_no = result.integer(row, c++);
  out.attempts = static_cast<std::int32_t>(result.integer(row, c++));
  out.life = static_cast<std::int32_t>(result.integer(row, c++));
  out.dispatched_at = result.micros(row, c++);
  out.last_error = result.text(row, c++);
  return out;
}

AttemptRow read_attempt_row(const Result& result, int row) {
  AttemptRow out;
  int c = 0;
  out.life = static_cast<std::int32_t>(result.integer(row, c++));
  out.attempt = static_cast<std::int32_t>(result.integer(row, c++));
  out.claim_no = result.integer(row, c++);
  out.claimed_by = result.text(row, c++);
  out.started_at = result.micros(row, c++);
  out.ended_at = result.micros(row, c++).value_or(DbTime{});
  out.outcome = result.text(row, c++);
  out.code = result.text(row, c++);
  out.error = result.text(row, c++);
  out.took_ms = result.integer(row, c++);
  return out;
}

DeadLetter read_dead_letter(const Result& result, int row) {
  DeadLetter out;
  int c = 0;
  out.id = RowId(result.integer(row, c++));
  out.life = static_cast<std::int32_t>(result.integer(row, c++));
  out.message_id = result.uuid(row, c++);
  out.job_type = result.text(row, c++);
  out.ordering_key = result.text(row, c++);
  out.reason = dead_reason_from(result.bytes(row, c++)).value_or(DeadReason::permanent);
  out.code = result.text(row, c++);
  out.error = result.text(row, c++);
  out.attempts = static_cast<std::int32_t>(result.integer(row, c++));
  out.dead_at = result.micros(row, c++).value_or(DbTime{});
  out.holds_key = result.boolean(row, c++);
  out.discarded_at = result.micros(row, c++);
  out.discarded_by = result.text(row, c++);
  out.discard_reason = result.text(row, c++);
  return out;
}

RelayRow read_relay_row(const Result& result, int row) {
  RelayRow out;
  int c = 0;
  out.claimed_by = result.text(row, c++);
  out.version = result.text(row, c++);
  out.workers = static_cast<std::int32_t>(result.integer(row, c++));
  out.leases_held = result.integer(row, c++);
  out.started_at = result.micros(row, c++).value_or(DbTime{});
  out.heartbeat_at = result.micros(row, c++).value_or(DbTime{});
  out.draining = result.boolean(row, c++);
  return out;
}

std::vector<std::string> like_patterns(const std::vector<std::string>& type_patterns) {
  std::vector<std::string> out;
  for (const std::string& pattern : type_patterns) {
    std::string like;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const char c = pattern[i];
      if (c == '*' && i + 1 == pattern.size()) {
        like += '%';
      } else {
        if (c == '%' || c == '_' || c == '\\') like += '\\';
        like += c;
      }
    }
    out.push_back(std::move(like));
  }
  return out;
}

}  // namespace pillarbox::postgresql
