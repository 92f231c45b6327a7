// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/rows.h"

#include <algorithm>

#include "core/type_pattern.h"
#include "json/json.h"

namespace pillarbox::sqlite {
namespace {

std::int32_t int32_of(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
}

MessageId id_of(std::string_view text) { return MessageId::parse(text).value_or(MessageId{}); }

template <class T>
bool any_of_or_empty(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool types_match(const Filter& filter, std::string_view job_type) {
  const auto any = [&](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const auto& pattern) { return core::matches_type(pattern, job_type); });
  };
  return (filter.job_types.empty() || any(filter.job_types)) && !any(filter.not_job_types);
}

bool reasons_match(const Filter& filter, std::optional<DeadReason> reason) {
  if (!reason) return filter.reasons.empty();
  const bool excluded = std::find(filter.not_reasons.begin(), filter.not_reasons.end(), *reason) !=
                        filter.not_reasons.end();
  return any_of_or_empty(filter.reasons, *reason) && !excluded;
}

// A view and a status are alternatives of one condition: status:dead,retrying.
bool status_matches(const Filter& filter, const MessageRow& row) {
  if (filter.statuses.empty() && filter.views.empty()) return true;
  const auto holds = [](const auto& wanted, const auto& value) {
    return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  return holds(filter.statuses, row.status) || holds(filter.views, row.view);
}

bool attempts_match(const Filter& filter, std::int32_t attempts) {
  return (!filter.attempts_min || attempts >= *filter.attempts_min) &&
         (!filter.attempts_max || attempts <= *filter.attempts_max);
}

bool times_match(const Filter& filter, DbTime occurred_at, DbTime now) {
  const auto earlier = [&](Millis by) {
    return DbTime{to_int(now) - std::chrono::microseconds(by).count()};
  };
  return (!filter.occurred_from || occurred_at >= *filter.occurred_from) &&
         (!filter.occurred_before || occurred_at < *filter.occurred_before) &&
         (!filter.age_min || occurred_at < earlier(*filter.age_min)) &&
         (!filter.age_max || occurred_at > earlier(*filter.age_max));
}

bool contains(const std::string& text, const std::string& part) {
  return part.empty() || text.find(part) != std::string::npos;
}

}  // namespace

std::optional<DbTime> maybe_time(const Statement::Rows& rows, int column) {
  if (rows.is_null(column)) return std::nullopt;
  return time_of(rows.integer(column));
}

ListedRow read_listed_row(const Statement::Rows& rows) {
  ListedRow out;
  MessageRow& row = out.row;
  row.id = RowId{rows.integer(0)};
  row.message_id = id_of(rows.bytes(1));
  row.job_type = rows.text(2);
  row.status = static_cast<Status>(rows.integer(3));
  row.view = rows.text(4);
  row.content_type = rows.text(5);
  row.payload_bytes = rows.integer(6);
  // What cannot be understood is shown as none; the claim says what is wrong with it.
  row.headers = json::parse_headers(rows.bytes(7)).value_or(Headers{});
  row.correlation_id = rows.text(8);
  row.ordering_key = rows.text(9);
  row.occurred_at = time_of(rows.integer(10));
  row.available_at = time_of(rows.integer(11));
  row.expires_at = maybe_time(rows, 12);
  row.claimed_by = rows.text(13);
  row.locked_until = maybe_time(rows, 14);
  row.claim_no = rows.integer(15);
  row.attempts = int32_of(rows.integer(16));
  row.life = int32_of(rows.integer(17));
  row.dispatched_at = maybe_time(rows, 18);
  row.last_error = rows.text(19);
  out.reason = dead_reason_from(rows.bytes(20));
  return out;
}

AttemptRow read_attempt(const Statement::Rows& rows) {
  AttemptRow attempt;
  attempt.life = int32_of(rows.integer(0));
  attempt.attempt = int32_of(rows.integer(1));
  attempt.claim_no = rows.integer(2);
  attempt.claimed_by = rows.text(3);
  attempt.started_at = maybe_time(rows, 4);
  attempt.ended_at = time_of(rows.integer(5));
  attempt.outcome = rows.text(6);
  attempt.code = rows.text(7);
  attempt.error = rows.text(8);
  attempt.took_ms = rows.integer(9);
  return attempt;
}

DeadLetter read_dead_letter(const Statement::Rows& rows) {
  DeadLetter letter;
  letter.id = RowId{rows.integer(0)};
  letter.life = int32_of(rows.integer(1));
  letter.message_id = id_of(rows.bytes(2));
  letter.job_type = rows.text(3);
  letter.ordering_key = rows.text(4);
  letter.reason = dead_reason_from(rows.bytes(5)).value_or(DeadReason::permanent);
  letter.code = rows.text(6);
  letter.error = rows.text(7);
  letter.attempts = int32_of(rows.integer(8));
  letter.dead_at = time_of(rows.integer(9));
  letter.holds_key = rows.flag(10);
  letter.discarded_at = maybe_time(rows, 11);
  letter.discarded_by = rows.text(12);
  letter.discard_reason = rows.text(13);
  return letter;
}

RelayRow read_relay(const Statement::Rows& rows) {
  RelayRow relay;
  relay.claimed_by = rows.text(0);
  relay.version = rows.text(1);
  relay.workers = int32_of(rows.integer(2));
  relay.leases_held = rows.integer(3);
  relay.started_at = time_of(rows.integer(4));
  relay.heartbeat_at = time_of(rows.integer(5));
  relay.draining = rows.flag(6);
  return relay;
}

bool matches(const Filter& filter, const ListedRow& listed, DbTime now) {
  const MessageRow& row = listed.row;
  const bool headers_match =
      std::all_of(filter.headers.begin(), filter.headers.end(), [&](const auto& header) {
        return std::find(row.headers.begin(), row.headers.end(), header) != row.headers.end();
      });
  return headers_match && any_of_or_empty(filter.ids, row.id) &&
         any_of_or_empty(filter.message_ids, row.message_id) && status_matches(filter, row) &&
         types_match(filter, row.job_type) &&
         any_of_or_empty(filter.ordering_keys, row.ordering_key) &&
         any_of_or_empty(filter.correlation_ids, row.correlation_id) &&
         reasons_match(filter, listed.reason) && attempts_match(filter, row.attempts) &&
         times_match(filter, row.occurred_at, now) &&
         contains(row.last_error, filter.error_contains);
}

bool matches(const Filter& filter, const DeadLetter& letter) {
  return any_of_or_empty(filter.ids, letter.id) &&
         any_of_or_empty(filter.message_ids, letter.message_id) &&
         types_match(filter, letter.job_type) &&
         any_of_or_empty(filter.ordering_keys, letter.ordering_key) &&
         reasons_match(filter, letter.reason) && attempts_match(filter, letter.attempts) &&
         contains(letter.error, filter.error_contains);
}

}  // namespace pillarbox::sqlite
