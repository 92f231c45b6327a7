// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/admin.h"

#include <algorithm>

#include "core/assert.h"
#include "core/error_group.h"
#include "core/type_pattern.h"
#include "core/units.h"
#include "json/json.h"
#include "pillarbox/error.h"
#include "pillarbox/postgresql.h"
#include "store/postgresql/admin_rows.h"
#include "store/postgresql/producer.h"

namespace pillarbox::postgresql {
namespace {

constexpr std::size_t kPageMax = 500;

void add_strings(Parameters& parameters, const std::vector<std::string>& values) {
  if (values.empty()) {
    parameters.null(kTextArray);
  } else {
    parameters.text_array(values);
  }
}

void add_integer(Parameters& parameters, std::optional<std::int64_t> value) {
  if (value) {
    parameters.int8(*value);
  } else {
    parameters.null(kInt8);
  }
}

void add_int4(Parameters& parameters, std::optional<std::int32_t> value) {
  if (value) {
    parameters.int4(*value);
  } else {
    parameters.null(kInt4);
  }
}

void add_ids(Parameters& parameters, const std::vector<RowId>& ids) {
  if (ids.empty()) {
    parameters.null(kInt8Array);
    return;
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(ids.size());
  for (const RowId id : ids) numbers.push_back(to_int(id));
  parameters.int8_array(numbers);
}

void add_uuids(Parameters& parameters, const std::vector<MessageId>& ids) {
  if (ids.empty()) {
    parameters.null(kUuidArray);
  } else {
    parameters.uuid_array(ids);
  }
}

std::vector<std::string> words(const std::vector<DeadReason>& reasons) {
  std::vector<std::string> out;
  out.reserve(reasons.size());
  for (const DeadReason reason : reasons) out.emplace_back(to_string(reason));
  return out;
}

// Views are refinements of pending: asking for one means the live rows.
std::vector<std::int16_t> statuses_of(const Filter& filter) {
  std::vector<std::int16_t> out;
  for (const Status status : filter.statuses) out.push_back(static_cast<std::int16_t>(status));
  if (!filter.views.empty() && std::find(out.begin(), out.end(), 0) == out.end()) out.push_back(0);
  return out;
}

// A view and a status are alternatives of one condition: status:dead,retrying.
std::vector<std::string> views_of(const Filter& filter) {
  if (filter.views.empty()) return {};
  std::vector<std::string> out = filter.views;
  for (const Status status : filter.statuses) {
    if (status == Status::pending) return {};  // every view of pending
    out.emplace_back(to_string(status));
  }
  return out;
}

}  // namespace

PostgresqlAdmin::PostgresqlAdmin(const StoreOptions& options)
    : session_(read_location(options.url), options, "admin") {}

Result PostgresqlAdmin::ask(std::string_view statement, Parameters parameters) {
  std::vector<Call> calls;
  calls.push_back({statement, std::move(parameters)});
  return std::move(session_.transaction(statement, std::move(calls)).front());
}

Overview PostgresqlAdmin::overview() {
  const Result r = ask("overview");
  Overview out;
  int c = 0;
  const auto capped = [&](int column) {
    return std::min<std::int64_t>(r.integer(0, column), Overview::kCountCap);
  };
  out.now = r.micros(0, c++).value_or(DbTime{});
  out.ready = capped(c++);
  out.delayed = capped(c++);
  out.retrying = capped(c++);
  out.held = capped(c++);
  out.braked = capped(c++);
  out.claimed = capped(c++);
  out.dead = capped(c++);
  out.dead_last_day = capped(c++);
  out.oldest_ready_at = r.micros(0, c++);
  out.last_dispatched_at = r.micros(0, c++);
  out.dispatched_last_minute = capped(c++);
  const Result types = ask("waiting_types");
  for (int row = 0; row < types.rows(); ++row) {
    out.waiting_types.push_back(TypeCount{types.text(row, 0), types.integer(row, 1)});
  }
  return out;
}

MessageList PostgresqlAdmin::list(const Filter& filter, const Page& page) {
  const std::size_t limit = std::clamp<std::size_t>(page.limit, 1, kPageMax);
  Parameters p;
  p.int8(to_int(page.before))
      .int8(static_cast<std::int64_t>(limit))
      .int8(static_cast<std::int64_t>(page.scan_max));
  add_ids(p, filter.ids);
  add_uuids(p, filter.message_ids);
  if (const auto statuses = statuses_of(filter); statuses.empty()) {
    p.null(kInt2Array);
  } else {
    p.int2_array(statuses);
  }
  const auto views = views_of(filter);
  add_strings(p, views);
  const auto types = like_patterns(filter.job_types);
  const auto not_types = like_patterns(filter.not_job_types);
  add_strings(p, types);
  add_strings(p, not_types);
  add_strings(p, filter.ordering_keys);
  add_strings(p, filter.correlation_ids);
  add_strings(p, words(filter.reasons));
  add_strings(p, words(filter.not_reasons));
  add_int4(p, filter.attempts_min);
  add_int4(p, filter.attempts_max);
  const auto micros = [](const std::optional<DbTime>& time) {
    return time ? std::optional(to_int(*time)) : std::nullopt;
  };
  const auto millis = [](const std::optional<Millis>& age) {
    return age ? std::optional<std::int64_t>(age->count()) : std::nullopt;
  };
  add_integer(p, micros(filter.occurred_from));
  add_integer(p, micros(filter.occurred_before));
  add_integer(p, millis(filter.age_min));
  add_integer(p, millis(filter.age_max));
  p.text_or_null(filter.error_contains);
  const std::string headers =
      filter.headers.empty() ? std::string{} : json::write_headers(filter.headers);
  p.text_or_null(headers);

  const Result r = ask("list", std::move(p));
  MessageList out;
  for (int row = 0; row < r.rows(); ++row) {
    if (!r.is_null(row, 0)) out.rows.push_back(read_message_row(r, row));
  }
  if (out.rows.size() == limit) out.next = out.rows.back().id;
  out.truncated = static_cast<std::size_t>(r.integer(0, 20)) >= page.scan_max &&
                  filter.ids.empty() && filter.message_ids.empty();
  return out;
}

std::optional<MessageDetail> PostgresqlAdmin::show(RowId id, bool with_payload) {
  Filter only;
  only.ids = {id};
  MessageList rows = list(only, Page{});
  MessageDetail out;
  out.dead_letters = dead_letters(only, Page{}, true);
  if (rows.rows.empty() && out.dead_letters.empty()) return std::nullopt;
  if (!rows.rows.empty()) {
    out.row = std::move(rows.rows.front());
  } else {
    // Only a tombstone is left.
    const DeadLetter& letter = out.dead_letters.front();
    out.row.id = letter.id;
    out.row.message_id = letter.message_id;
    out.row.job_type = letter.job_type;
    out.row.ordering_key = letter.ordering_key;
    out.row.status = Status::dead;
    out.row.view = "discarded";
    out.row.attempts = letter.attempts;
    out.row.life = letter.life;
    out.row.last_error = letter.error;
  }
  Parameters by_id;
  by_id.int8(to_int(id));
  const Result attempts = ask("attempts", std::move(by_id));
  for (int row = 0; row < attempts.rows(); ++row)
    out.attempts.push_back(read_attempt_row(attempts, row));
  if (with_payload) {
    Parameters again;
    again.int8(to_int(id));
    const Result payload = ask("payload", std::move(again));
    if (payload.rows() == 1) {
      out.payload = payload.text(0, 0);
      out.now = payload.micros(0, 1).value_or(DbTime{});
    }
  }
  return out;
}

std::optional<RowId> PostgresqlAdmin::find(MessageId message_id) {
  Parameters p;
  p.uuid(message_id);
  const Result r = ask("find", std::move(p));
  if (r.rows() == 0 || r.is_null(0, 0)) return std::nullopt;
  return RowId(r.integer(0, 0));
}

std::vector<DeadLetter> PostgresqlAdmin::dead_letters(const Filter& filter, const Page& page) {
  return dead_letters(filter, page, false);
}

std::vector<DeadLetter> PostgresqlAdmin::dead_letters(const Filter& filter, const Page& page,
                                                      bool tombstones_too) {
  Parameters p;
  p.int8(to_int(page.before))
      .int8(static_cast<std::int64_t>(std::clamp<std::size_t>(page.limit, 1, kPageMax)));
  add_ids(p, filter.ids);
  add_uuids(p, filter.message_ids);
  const auto types = like_patterns(filter.job_types);
  const auto not_types = like_patterns(filter.not_job_types);
  add_strings(p, types);
  add_strings(p, not_types);
  add_strings(p, filter.ordering_keys);
  add_strings(p, words(filter.reasons));
  add_strings(p, words(filter.not_reasons));
  p.text_or_null(filter.error_contains).boolean(tombstones_too);
  const Result r = ask("dead_letters", std::move(p));
  std::vector<DeadLetter> out;
  out.reserve(static_cast<std::size_t>(r.rows()));
  for (int row = 0; row < r.rows(); ++row) out.push_back(read_dead_letter(r, row));
  return out;
}

std::vector<DeadGroup> PostgresqlAdmin::dead_groups() {
  const Result r = ask("dead_groups");
  core::DeadGrouping grouping;
  for (int row = 0; row < r.rows(); ++row) {
    grouping.add(RowId(r.integer(row, 0)), r.text(row, 1),
                 dead_reason_from(r.bytes(row, 2)).value_or(DeadReason::permanent), r.bytes(row, 3),
                 r.micros(row, 4).value_or(DbTime{}));
  }
  return grouping.take();
}

MessageId PostgresqlAdmin::enqueue(const NewMessage& message) {
  validate(message);
  const EnqueueText text(message);
  return ask("enqueue", text.parameters()).uuid(0, 0);
}

std::vector<MessageId> PostgresqlAdmin::enqueue_all(std::span<const NewMessage> messages) {
  if (messages.empty()) return {};
  for (const NewMessage& message : messages) validate(message);
  const EnqueueManyText text(messages);
  return ids_of(ask("enqueue_many", text.parameters()));
}

ActResult PostgresqlAdmin::act(std::string_view statement, std::span<const ActTarget> targets,
                               std::string_view who, std::string_view why) {
  if (targets.empty()) return {};
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> claim_nos;
  for (const ActTarget& target : targets) {
    ids.push_back(to_int(target.id));
    claim_nos.push_back(target.claim_no);
  }
  return repeat_on_conflict([&] {
    Parameters p;
    p.int8_array(ids).int8_array(claim_nos).text(who).text(why);
    std::vector<Call> calls;
    if (statement == "replay") calls.push_back({"brake_guard", {}});
    calls.push_back({statement, std::move(p)});
    ActResult out;
    out.done = session_.transaction(statement, std::move(calls)).back().rows();
    out.skipped = static_cast<std::int64_t>(targets.size()) - out.done;
    return out;
  });
}

ActResult PostgresqlAdmin::replay(std::span<const ActTarget> t, std::string_view who,
                                  std::string_view why) {
  return act("replay", t, who, why);
}
ActResult PostgresqlAdmin::discard(std::span<const ActTarget> t, std::string_view who,
                                   std::string_view why) {
  return act("discard", t, who, why);
}
ActResult PostgresqlAdmin::release(std::span<const ActTarget> t, std::string_view who,
                                   std::string_view why) {
  return act("release", t, who, why);
}

std::vector<BrakeRow> PostgresqlAdmin::brakes() {
  const Result r = ask("brakes");
  std::vector<BrakeRow> out;
  out.reserve(static_cast<std::size_t>(r.rows()));
  for (int row = 0; row < r.rows(); ++row) {
    out.push_back(BrakeRow{r.text(row, 0), r.text(row, 1), r.text(row, 2),
                           r.micros(row, 3).value_or(DbTime{})});
  }
  return out;
}

std::int64_t PostgresqlAdmin::brake(std::string_view scope, std::string_view who,
                                    std::string_view why) {
  core::check_brake_scope(scope);
  Parameters p;
  p.text(scope).text(who).text(why);
  std::vector<Call> calls;
  calls.push_back({"brake_guard", {}});
  calls.push_back({"brake_set", std::move(p)});
  static_cast<void>(session_.transaction("pause", std::move(calls)));
  return claimed_in_scope(scope);
}

std::int64_t PostgresqlAdmin::claimed_in_scope(std::string_view scope) {
  Parameters p;
  p.text(scope);
  return ask("claimed_in_scope", std::move(p)).integer(0, 0);
}

bool PostgresqlAdmin::unbrake(std::string_view scope, std::string_view who) {
  core::check_brake_scope(scope);
  Parameters p;
  p.text(scope).text(who);
  return ask("brake_lift", std::move(p)).integer(0, 0) > 0;
}

std::int64_t PostgresqlAdmin::purge(PurgeKind kind, Millis age, std::size_t batch) {
  const auto run = [&](std::string_view statement, std::optional<std::int64_t> from) {
    Parameters p;
    p.int8(age.count()).int8(static_cast<std::int64_t>(batch));
    if (from) p.int8(*from);
    std::vector<Call> calls;
    calls.push_back({statement, std::move(p)});
    return std::move(session_.transaction("purge", std::move(calls)).front());
  };
  return repeat_on_conflict([&]() -> std::int64_t {
    switch (kind) {
      case PurgeKind::tombstones:
        return run("purge_tombstones", {}).integer(0, 0);
      case PurgeKind::dead:
        return run("purge_dead", {}).integer(0, 0);
      case PurgeKind::inbox:
        return run("purge_inbox", {}).integer(0, 0);
      case PurgeKind::dispatched:
        break;
    }
    // Old rows may lie behind others that stay: look on until something was removed or the end was
    // reached.
    for (;;) {
      const Result r = run("purge_dispatched", purge_from_);
      const bool at_end = r.is_null(0, 1);
      purge_from_ = at_end ? 0 : r.integer(0, 1);
      if (r.integer(0, 0) > 0 || at_end) return r.integer(0, 0);
    }
  });
}

std::vector<RelayRow> PostgresqlAdmin::relays() {
  const Result r = ask("relays");
  std::vector<RelayRow> out;
  out.reserve(static_cast<std::size_t>(r.rows()));
  for (int row = 0; row < r.rows(); ++row) out.push_back(read_relay_row(r, row));
  return out;
}

bool PostgresqlAdmin::heartbeat(const RelayRow& relay) {
  Parameters p;
  p.text(relay.claimed_by)
      .text(relay.version)
      .int4(relay.workers)
      .int8(relay.leases_held)
      .boolean(relay.draining);
  return ask("heartbeat", std::move(p)).boolean(0, 0);
}

void PostgresqlAdmin::say_goodbye(std::string_view claimed_by) {
  Parameters p;
  p.text(claimed_by);
  static_cast<void>(ask("goodbye", std::move(p)));
}

bool PostgresqlAdmin::ask_to_drain(std::string_view claimed_by) {
  Parameters p;
  p.text(claimed_by);
  return ask("ask_to_drain", std::move(p)).rows() > 0;
}

std::vector<Finding> PostgresqlAdmin::examine() {
  const Result r = ask("examine");
  std::vector<Finding> out;
  const auto add = [&](Finding::Level level, std::string subject, std::string text,
                       std::string fix) {
    out.push_back(Finding{level, std::move(subject), std::move(text), std::move(fix)});
  };
  using enum Finding::Level;
  add(ok, "server", "PostgreSQL " + r.text(0, 0), "");
  if (r.bytes(0, 1) != "UTF8") {
    add(error, "encoding", "the database is encoded as " + r.text(0, 1) + "; messages need UTF8",
        "create the database with encoding UTF8");
  }
  if (r.boolean(0, 2) || r.bytes(0, 3) == "on") {
    add(error, "read-only", "this server takes no writes",
        "name the primary, or several hosts, in the store's URL");
  }
  if (r.bytes(0, 4) == "off") {
    add(warn, "durability",
        "synchronous_commit is off: a committed message can be lost when the server crashes",
        "set synchronous_commit = on for producers");
  }
  if (r.bytes(0, 5) == "off")
    add(error, "durability", "fsync is off: a crash can destroy everything", "set fsync = on");
  const auto server_now = r.integer(0, 6);
  const auto here = std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  const Millis offset(std::abs(server_now - here) / 1'000);
  add(offset > Millis{5'000} ? warn : ok, "clock",
      "offset to the server " + core::describe_duration(offset),
      offset > Millis{5'000} ? "leases are safe, but times shown will look odd; set up NTP" : "");
  add(ok, "size",
      core::describe_size(static_cast<std::uint64_t>(r.integer(0, 7))) + ", " +
          std::to_string(r.integer(0, 9)) + " rows and " + std::to_string(r.integer(0, 8)) +
          " dead row versions (estimates)",
      "");
  if (!r.is_null(0, 10)) {
    add(warn, "transactions",
        "a transaction is open for more than 5 minutes (pid " + r.text(0, 10) +
            "): dead rows cannot be removed",
        "end it, or set idle_in_transaction_session_timeout");
  }
  if (!r.boolean(0, 11))
    add(error, "rights", "this user may not claim and settle", "grant pillarbox_relay to it");
  return out;
}

}  // namespace pillarbox::postgresql
