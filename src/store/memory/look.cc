// SPDX-License-Identifier: Apache-2.0
#include "store/memory/look.h"

#include <algorithm>

#include "core/error_group.h"
#include "core/type_pattern.h"
#include "store/memory/work.h"

namespace pillarbox::memory {
namespace {

constexpr std::size_t kPageMax = 500;
constexpr std::size_t kGroupedLettersMax = 10'000;
constexpr std::size_t kTypesMax = 50;

// How a message waits; nobody is asked whether somebody holds it.
std::string waiting_view(const Tables& tables, const Row& row, DbTime now) {
  if (is_braked(tables, row.job_type)) return "braked";
  if (row.available_at > now) return row.attempts > 0 ? "retrying" : "delayed";
  if (!row.ordering_key.empty() &&
      (*tables.keys().find(row.ordering_key)->second.live.begin() != row.id ||
       tables.held_by_dead(row.ordering_key, row.id)))
    return "held";
  return row.attempts > 0 ? "retrying" : "ready";
}

std::string view_of(const Tables& tables, const Row& row, DbTime now) {
  return row.status == Status::pending ? waiting_view(tables, row, now)
                                       : std::string(to_string(row.status));
}

template <class T>
bool any_of_or_empty(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool matches_any_type(const std::vector<std::string>& patterns, std::string_view job_type) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return core::matches_type(pattern, job_type); });
}

bool types_match(const Filter& filter, std::string_view job_type) {
  return (filter.job_types.empty() || matches_any_type(filter.job_types, job_type)) &&
         !matches_any_type(filter.not_job_types, job_type);
}

bool reasons_match(const Filter& filter, std::optional<DeadReason> reason) {
  if (!filter.reasons.empty() && (!reason || !any_of_or_empty(filter.reasons, *reason)))
    return false;
  return !reason || filter.not_reasons.empty() || !any_of_or_empty(filter.not_reasons, *reason);
}

bool attempts_match(const Filter& filter, std::int32_t attempts) {
  return attempts >= filter.attempts_min.value_or(0) &&
         (!filter.attempts_max || attempts <= *filter.attempts_max);
}

// A view and a status are alternatives of one condition: status:dead,retrying.
bool status_matches(const Filter& filter, Status status, const std::string& view) {
  if (filter.statuses.empty() && filter.views.empty()) return true;
  const auto holds = [](const auto& wanted, const auto& value) {
    return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  return holds(filter.statuses, status) || holds(filter.views, view);
}

bool matches(const Tables& tables, const Filter& filter, const Row& row, DbTime now) {
  const auto letter = tables.dead_letters().find({row.id, row.life});
  const std::optional<DeadReason> reason =
      letter == tables.dead_letters().end() ? std::nullopt : std::optional(letter->second.reason);
  const bool headers_match =
      std::all_of(filter.headers.begin(), filter.headers.end(), [&](const auto& header) {
        return std::find(row.headers.begin(), row.headers.end(), header) != row.headers.end();
      });
  return any_of_or_empty(filter.ids, RowId{row.id}) &&
         any_of_or_empty(filter.message_ids, row.message_id) && types_match(filter, row.job_type) &&
         any_of_or_empty(filter.ordering_keys, row.ordering_key) &&
         any_of_or_empty(filter.correlation_ids, row.correlation_id) &&
         reasons_match(filter, reason) && attempts_match(filter, row.attempts) &&
         (!filter.occurred_from || row.occurred_at >= *filter.occurred_from) &&
         (!filter.occurred_before || row.occurred_at < *filter.occurred_before) &&
         (!filter.age_min || row.occurred_at < earlier(now, *filter.age_min)) &&
         (!filter.age_max || row.occurred_at > earlier(now, *filter.age_max)) &&
         (filter.error_contains.empty() ||
          row.last_error.find(filter.error_contains) != std::string::npos) &&
         headers_match && status_matches(filter, row.status, view_of(tables, row, now));
}

MessageRow to_message_row(const Tables& tables, const Row& row, DbTime now) {
  MessageRow out;
  out.id = RowId{row.id};
  out.message_id = row.message_id;
  out.job_type = row.job_type;
  out.status = row.status;
  out.view = view_of(tables, row, now);
  out.content_type = row.content_type;
  out.payload_bytes = static_cast<std::int64_t>(row.payload.size());
  out.headers = row.headers;
  out.correlation_id = row.correlation_id;
  out.ordering_key = row.ordering_key;
  out.occurred_at = row.occurred_at;
  out.available_at = row.available_at;
  out.expires_at = row.expires_at;
  out.claimed_by = row.claimed_by;
  out.locked_until = row.locked_until;
  out.claim_no = row.claim_no;
  out.attempts = row.attempts;
  out.life = row.life;
  out.dispatched_at = row.dispatched_at;
  out.last_error = row.last_error;
  return out;
}

// What is left of a message that was discarded.
MessageRow tombstone_row(const DeadLetter& letter) {
  MessageRow out;
  out.id = letter.id;
  out.message_id = letter.message_id;
  out.job_type = letter.job_type;
  out.ordering_key = letter.ordering_key;
  out.status = Status::dead;
  out.view = "discarded";
  out.attempts = letter.attempts;
  out.life = letter.life;
  out.last_error = letter.error;
  return out;
}

void count_waiting(const Tables& tables, const Row& row, DbTime now, Overview& out) {
  if (row.leased(now)) {
    ++out.claimed;
    return;
  }
  const std::string view = waiting_view(tables, row, now);
  if (view == "braked") ++out.braked;
  if (view == "delayed") ++out.delayed;
  if (view == "held") ++out.held;
  if (view == "ready") ++out.ready;
  if (view == "retrying") ++out.retrying;
  if ((view == "ready" || view == "retrying") && row.available_at <= now &&
      (!out.oldest_ready_at || row.available_at < *out.oldest_ready_at))
    out.oldest_ready_at = row.available_at;
}

}  // namespace

Overview overview(const Tables& tables, DbTime now) {
  Overview out;
  out.now = now;
  std::map<std::string, std::int64_t> types;
  for (const auto& [id, row] : tables.outbox()) {
    if (!row.live()) continue;
    count_waiting(tables, row, now, out);
    ++types[row.job_type];
  }
  for (const auto& [key, letter] : tables.dead_letters()) {
    if (letter.discarded_at) continue;
    ++out.dead;
    if (letter.dead_at > earlier(now, std::chrono::hours(24))) ++out.dead_last_day;
  }
  for (auto it = tables.dispatched().rbegin(); it != tables.dispatched().rend(); ++it) {
    if (!out.last_dispatched_at) out.last_dispatched_at = it->first;
    if (it->first <= earlier(now, std::chrono::minutes(1))) break;
    ++out.dispatched_last_minute;
  }
  for (std::int64_t* count :
       {&out.ready, &out.delayed, &out.retrying, &out.held, &out.braked, &out.claimed, &out.dead,
        &out.dead_last_day, &out.dispatched_last_minute})
    *count = std::min(*count, Overview::kCountCap);
  for (const auto& [job_type, waiting] : types) out.waiting_types.push_back({job_type, waiting});
  std::stable_sort(out.waiting_types.begin(), out.waiting_types.end(),
                   [](const auto& a, const auto& b) { return a.waiting > b.waiting; });
  if (out.waiting_types.size() > kTypesMax) out.waiting_types.resize(kTypesMax);
  return out;
}

MessageList list(const Tables& tables, const Filter& filter, const Page& page, DbTime now) {
  MessageList out;
  const std::size_t limit = std::min(page.limit, kPageMax);
  std::size_t scanned = 0;
  auto it = tables.outbox().lower_bound(to_int(page.before));
  while (it != tables.outbox().begin()) {
    --it;
    if (scanned == page.scan_max) {
      out.truncated = true;
      out.next = RowId{it->first + 1};
      break;
    }
    ++scanned;
    if (!matches(tables, filter, it->second, now)) continue;
    if (out.rows.size() == limit) {
      if (limit > 0) out.next = out.rows.back().id;
      break;
    }
    out.rows.push_back(to_message_row(tables, it->second, now));
  }
  return out;
}

std::optional<MessageDetail> show(const Tables& tables, RowId id, bool with_payload, DbTime now) {
  MessageDetail out;
  out.now = now;
  for (auto it = tables.dead_letters().lower_bound({to_int(id), 0});
       it != tables.dead_letters().end() && it->first.first == to_int(id); ++it)
    out.dead_letters.push_back(it->second);
  if (const Row* row = tables.find(to_int(id)); row != nullptr) {
    out.row = to_message_row(tables, *row, now);
    if (with_payload) out.payload = row->payload;
  } else if (!out.dead_letters.empty()) {
    out.row = tombstone_row(out.dead_letters.back());
  } else {
    return std::nullopt;
  }
  const auto attempts = tables.attempts.find(to_int(id));
  if (attempts != tables.attempts.end()) out.attempts = attempts->second;
  return out;
}

std::vector<DeadLetter> dead_letters(const Tables& tables, const Filter& filter, const Page& page) {
  std::vector<DeadLetter> out;
  const std::size_t limit = std::min(page.limit, kPageMax);
  auto it = tables.dead_letters().lower_bound({to_int(page.before), 0});
  for (std::size_t scanned = 0;
       it != tables.dead_letters().begin() && scanned < page.scan_max && out.size() < limit;
       ++scanned) {
    --it;
    const DeadLetter& letter = it->second;
    if (!letter.discarded_at && any_of_or_empty(filter.ids, letter.id) &&
        any_of_or_empty(filter.message_ids, letter.message_id) &&
        types_match(filter, letter.job_type) &&
        any_of_or_empty(filter.ordering_keys, letter.ordering_key) &&
        reasons_match(filter, letter.reason) && attempts_match(filter, letter.attempts) &&
        (filter.error_contains.empty() ||
         letter.error.find(filter.error_contains) != std::string::npos))
      out.push_back(letter);
  }
  return out;
}

std::vector<DeadGroup> dead_groups(const Tables& tables) {
  core::DeadGrouping grouping;
  std::size_t seen = 0;
  for (auto it = tables.dead_letters().rbegin();
       it != tables.dead_letters().rend() && seen < kGroupedLettersMax; ++it) {
    const DeadLetter& letter = it->second;
    if (letter.discarded_at) continue;
    ++seen;
    grouping.add(letter.id, letter.job_type, letter.reason, letter.error, letter.dead_at);
  }
  return grouping.take();
}

}  // namespace pillarbox::memory
