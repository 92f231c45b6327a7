// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/admin.h"

#include <algorithm>
#include <map>

#include "core/error_group.h"
#include "core/type_pattern.h"
#include "json/json.h"
#include "pillarbox/error.h"
#include "pillarbox/sqlite.h"
#include "store/sqlite/examine.h"
#include "store/sqlite/rows.h"

namespace pillarbox::sqlite {
namespace {

constexpr std::size_t kPageMax = 500;
constexpr std::size_t kTypesMax = 50;

// Where a list looks for candidates: the narrowest index that the filter allows.
struct Source {
  std::string_view name = "all";
  std::string values = "[]";
};

template <class Values, class Text>
std::string json_array(const Values& values, const Text& add) {
  json::Writer writer;
  writer.begin_array();
  for (const auto& value : values) add(writer, value);
  writer.end_array();
  return writer.take();
}

std::string json_texts(const std::vector<std::string>& values) {
  return json_array(values, [](json::Writer& w, const std::string& v) { w.string(v); });
}

std::string json_ids(const std::vector<RowId>& values) {
  return json_array(values, [](json::Writer& w, RowId v) { w.number(to_int(v)); });
}

Source source_of(const Filter& filter) {
  if (!filter.ids.empty()) return {"ids", json_ids(filter.ids)};
  if (!filter.message_ids.empty()) {
    return {"message_ids", json_array(filter.message_ids, [](json::Writer& w, const MessageId& v) {
              w.string(v.to_string());
            })};
  }
  if (!filter.correlation_ids.empty())
    return {"correlation_ids", json_texts(filter.correlation_ids)};
  if (!filter.ordering_keys.empty()) return {"keys", json_texts(filter.ordering_keys)};
  if (filter.statuses.empty()) return filter.views.empty() ? Source{} : Source{"live"};
  const auto only = [&](auto test) {
    return std::all_of(filter.statuses.begin(), filter.statuses.end(), test);
  };
  if (filter.views.empty() && only([](Status s) { return s == Status::dead; })) return {"dead"};
  if (only([](Status s) { return s == Status::pending || s == Status::claimed; })) return {"live"};
  return {};
}

void add_to_overview(Overview& out, std::string_view view, std::int64_t count,
                     std::optional<DbTime> oldest_at) {
  if (view == "claimed") out.claimed += count;
  if (view == "braked") out.braked += count;
  if (view == "delayed") out.delayed += count;
  if (view == "held") out.held += count;
  if (view == "ready") out.ready += count;
  if (view == "retrying") out.retrying += count;
  if ((view == "ready" || view == "retrying") && oldest_at &&
      (!out.oldest_ready_at || *oldest_at < *out.oldest_ready_at))
    out.oldest_ready_at = oldest_at;
}

std::vector<TypeCount> most_waiting(const std::map<std::string, std::int64_t>& types) {
  std::vector<TypeCount> out;
  out.reserve(types.size());
  for (const auto& [job_type, waiting] : types) out.push_back({job_type, waiting});
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.waiting > b.waiting; });
  if (out.size() > kTypesMax) out.resize(kTypesMax);
  return out;
}

// What is left of a message that was discarded.
MessageRow tombstone_row(const DeadLetter& letter) {
  MessageRow row;
  row.id = letter.id;
  row.message_id = letter.message_id;
  row.job_type = letter.job_type;
  row.ordering_key = letter.ordering_key;
  row.status = Status::dead;
  row.view = "discarded";
  row.attempts = letter.attempts;
  row.life = letter.life;
  row.last_error = letter.error;
  return row;
}

std::int64_t count_claimed(Connection& db, std::string_view scope, std::int64_t now) {
  auto rows = db.statement("claimed_in_scope.sql", {":scope", ":now"}).query(scope, now);
  return rows.next() ? rows.integer(0) : 0;
}

void note(Connection& db, std::int64_t now, std::string_view who, std::string_view action,
          std::string_view what, std::string_view why) {
  db.statement("audit_add.sql", {":now", ":who", ":action", ":what", ":why"})
      .run(now, who, action, what, why);
}

}  // namespace

SqliteAdmin::SqliteAdmin(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer)
    // What an operator was told is done stays done, whatever happens to the machine.
    : session_(options, std::move(checkpointer), {.synchronous_full = true}) {}

template <class Work>
auto SqliteAdmin::reading(Work&& work) {
  return session_.call([&](Connection& db) {
    const Transaction transaction(db, Transaction::Kind::read);
    return work(db, db.now());
  });
}

template <class Work>
auto SqliteAdmin::writing(Work&& work) {
  return session_.call([&](Connection& db) {
    Transaction transaction(db, Transaction::Kind::write);
    auto result = work(db, db.now());
    transaction.commit();
    session_.committed(db);
    return result;
  });
}

// ---- looking

Overview SqliteAdmin::overview() {
  return reading([](Connection& db, std::int64_t now) {
    Overview out;
    out.now = time_of(now);
    std::map<std::string, std::int64_t> types;
    {
      auto rows = db.statement("overview_live.sql", {":now"}).query(now);
      while (rows.next()) {
        const std::int64_t count = rows.integer(2);
        types[rows.text(0)] += count;
        add_to_overview(out, rows.bytes(1), count, maybe_time(rows, 3));
      }
    }
    out.waiting_types = most_waiting(types);
    auto rows = db.statement("overview.sql", {":now"}).query(now);
    if (rows.next()) {
      out.dead = rows.integer(0);
      out.dead_last_day = rows.integer(1);
      out.last_dispatched_at = maybe_time(rows, 2);
      out.dispatched_last_minute = rows.integer(3);
    }
    for (std::int64_t* count :
         {&out.ready, &out.delayed, &out.retrying, &out.held, &out.braked, &out.claimed})
      *count = std::min(*count, Overview::kCountCap);
    return out;
  });
}

MessageList SqliteAdmin::list(const Filter& filter, const Page& page) {
  const std::size_t limit = std::clamp<std::size_t>(page.limit, 1, kPageMax);
  const Source source = source_of(filter);
  return reading([&](Connection& db, std::int64_t now) {
    MessageList out;
    const auto scan_max =
        static_cast<std::int64_t>(std::min<std::size_t>(page.scan_max, 1'000'000));
    auto candidates = db.statement("list.sql", {":source", ":values", ":before", ":scan_max"})
                          .query(source.name, source.values, page.before, scan_max);
    Statement& look = db.statement("list_row.sql", {":id", ":now"});
    std::int64_t looked = 0;
    std::int64_t last = 0;
    while (candidates.next()) {
      last = candidates.integer(0);
      ++looked;
      auto rows = look.query(last, now);
      if (!rows.next()) continue;
      ListedRow listed = read_listed_row(rows);
      if (!matches(filter, listed, time_of(now))) continue;
      if (out.rows.size() == limit) {  // there is one more
        out.next = out.rows.back().id;
        return out;
      }
      out.rows.push_back(std::move(listed.row));
    }
    if (looked >= scan_max && source.name != "ids" && source.name != "message_ids") {
      out.truncated = true;
      out.next = RowId{last};
    }
    return out;
  });
}

std::optional<MessageDetail> SqliteAdmin::show(RowId id, bool with_payload) {
  return reading([&](Connection& db, std::int64_t now) -> std::optional<MessageDetail> {
    MessageDetail out;
    out.now = time_of(now);
    {
      auto rows = db.statement("dead_letters_of.sql", {":id"}).query(id);
      while (rows.next()) out.dead_letters.push_back(read_dead_letter(rows));
    }
    {
      auto rows = db.statement("list_row.sql", {":id", ":now"}).query(id, now);
      if (rows.next()) {
        out.row = read_listed_row(rows).row;
      } else if (!out.dead_letters.empty()) {
        out.row = tombstone_row(out.dead_letters.back());
      } else {
        return std::nullopt;
      }
    }
    {
      auto rows = db.statement("attempts.sql", {":id"}).query(id);
      while (rows.next()) out.attempts.push_back(read_attempt(rows));
    }
    if (with_payload) {
      auto rows = db.statement("payload.sql", {":id"}).query(id);
      if (rows.next()) out.payload = rows.text(0);
    }
    return out;
  });
}

std::optional<RowId> SqliteAdmin::find(MessageId message_id) {
  return reading([&](Connection& db, std::int64_t) -> std::optional<RowId> {
    const std::string text = message_id.to_string();
    auto rows = db.statement("find.sql", {":message_id"}).query(text);
    if (!rows.next()) return std::nullopt;
    return RowId{rows.integer(0)};
  });
}

std::vector<DeadLetter> SqliteAdmin::dead_letters(const Filter& filter, const Page& page) {
  const std::size_t limit = std::clamp<std::size_t>(page.limit, 1, kPageMax);
  return reading([&](Connection& db, std::int64_t) {
    std::vector<DeadLetter> out;
    std::optional<std::string> ids;
    if (!filter.ids.empty()) ids = json_ids(filter.ids);
    auto rows = db.statement("dead_letters.sql", {":before", ":ids", ":tombstones"})
                    .query(page.before, ids, false);
    for (std::size_t looked = 0; out.size() < limit && looked < page.scan_max && rows.next();
         ++looked) {
      DeadLetter letter = read_dead_letter(rows);
      if (matches(filter, letter)) out.push_back(std::move(letter));
    }
    return out;
  });
}

std::vector<DeadGroup> SqliteAdmin::dead_groups() {
  return reading([](Connection& db, std::int64_t) {
    core::DeadGrouping grouping;
    auto rows = db.statement("dead_group_rows.sql", {}).query();
    while (rows.next()) {
      grouping.add(RowId{rows.integer(0)}, rows.text(1),
                   dead_reason_from(rows.bytes(2)).value_or(DeadReason::permanent), rows.bytes(3),
                   time_of(rows.integer(4)));
    }
    return grouping.take();
  });
}

std::vector<Finding> SqliteAdmin::examine() {
  return session_.call([](Connection& db) { return sqlite::examine(db); });
}

// ---- acting

MessageId SqliteAdmin::enqueue(const NewMessage& message) {
  return session_.call([&](Connection& db) {
    const MessageId id = sqlite::enqueue(db.raw(), message);
    session_.committed(db);
    return id;
  });
}

std::vector<MessageId> SqliteAdmin::enqueue_all(std::span<const NewMessage> messages) {
  for (const NewMessage& message : messages) validate(message);  // before the lock is taken
  return writing([&](Connection& db, std::int64_t) {
    std::vector<MessageId> ids;
    ids.reserve(messages.size());
    for (const NewMessage& message : messages) ids.push_back(sqlite::enqueue(db.raw(), message));
    return ids;
  });
}

template <class One>
ActResult SqliteAdmin::act(std::span<const ActTarget> targets, std::string_view action,
                           std::string_view who, std::string_view why, One&& one) {
  if (targets.empty()) return {};
  return writing([&](Connection& db, std::int64_t now) {
    ActResult result;
    for (const ActTarget& target : targets) {
      if (one(db, target, now)) {
        ++result.done;
      } else {
        ++result.skipped;
      }
    }
    note(db, now, who, action, std::to_string(result.done) + " messages", why);
    return result;
  });
}

ActResult SqliteAdmin::replay(std::span<const ActTarget> targets, std::string_view who,
                              std::string_view why) {
  return act(targets, "replay", who, why,
             [&](Connection& db, const ActTarget& target, std::int64_t now) {
               if (db.statement("replay.sql", {":id", ":claim_no", ":now"})
                       .run(target.id, target.claim_no, now) == 0)
                 return false;
               db.statement("replay_letter.sql", {":id"}).run(target.id);
               db.statement("replay_history.sql", {":id", ":now", ":who", ":why"})
                   .run(target.id, now, who, why);
               return true;
             });
}

ActResult SqliteAdmin::discard(std::span<const ActTarget> targets, std::string_view who,
                               std::string_view why) {
  return act(
      targets, "discard", who, why, [&](Connection& db, const ActTarget& target, std::int64_t now) {
        db.statement("discard_tombstone.sql", {":id", ":claim_no", ":now"})
            .run(target.id, target.claim_no, now);
        db.statement("discard_letter.sql", {":id", ":claim_no", ":now", ":who", ":why"})
            .run(target.id, target.claim_no, now, who, why);
        if (db.statement("discard.sql", {":id", ":claim_no"}).run(target.id, target.claim_no) == 0)
          return false;
        db.statement("attempt_purge.sql", {":id"}).run(target.id);
        return true;
      });
}

ActResult SqliteAdmin::release(std::span<const ActTarget> targets, std::string_view who,
                               std::string_view why) {
  const std::string reason = std::string(who) + ": " + std::string(why);
  return act(targets, "release", who, why,
             [&](Connection& db, const ActTarget& target, std::int64_t now) {
               db.statement("release_history.sql", {":id", ":claim_no", ":now", ":error"})
                   .run(target.id, target.claim_no, now, reason);
               return db.statement("release.sql", {":id", ":claim_no", ":now"})
                          .run(target.id, target.claim_no, now) == 1;
             });
}

std::vector<BrakeRow> SqliteAdmin::brakes() {
  return reading([](Connection& db, std::int64_t) {
    std::vector<BrakeRow> out;
    auto rows = db.statement("brakes.sql", {}).query();
    while (rows.next())
      out.push_back(BrakeRow{rows.text(0), rows.text(1), rows.text(2), time_of(rows.integer(3))});
    return out;
  });
}

std::int64_t SqliteAdmin::brake(std::string_view scope, std::string_view who,
                                std::string_view why) {
  core::check_brake_scope(scope);
  return writing([&](Connection& db, std::int64_t now) {
    db.statement("brake_set.sql", {":scope", ":reason", ":set_by", ":now"})
        .run(scope, why, who, now);
    note(db, now, who, "pause", scope, why);
    return count_claimed(db, scope, now);
  });
}

std::int64_t SqliteAdmin::claimed_in_scope(std::string_view scope) {
  core::check_brake_scope(scope);
  return reading([&](Connection& db, std::int64_t now) { return count_claimed(db, scope, now); });
}

bool SqliteAdmin::unbrake(std::string_view scope, std::string_view who) {
  core::check_brake_scope(scope);
  return writing([&](Connection& db, std::int64_t now) {
    if (db.statement("brake_lift.sql", {":scope"}).run(scope) == 0) return false;
    note(db, now, who, "resume", scope, "");
    return true;
  });
}

std::int64_t SqliteAdmin::purge(PurgeKind kind, Millis age, std::size_t batch) {
  const auto at_most = static_cast<std::int64_t>(std::min<std::size_t>(batch, INT32_MAX));
  return writing([&](Connection& db, std::int64_t now) -> std::int64_t {
    const std::int64_t before = now - age.count();
    switch (kind) {
      case PurgeKind::dispatched:
        db.statement("purge_dispatched_history.sql", {":before", ":batch"}).run(before, at_most);
        return db.statement("purge_dispatched.sql", {":before", ":batch"}).run(before, at_most);
      case PurgeKind::tombstones:
        return db.statement("purge_tombstones.sql", {":before", ":batch"}).run(before, at_most);
      case PurgeKind::inbox:
        return db.statement("purge_inbox.sql", {":before", ":batch"}).run(before, at_most);
      case PurgeKind::dead:
        break;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> letters;
    {
      auto rows = db.statement("purge_dead_rows.sql", {":before", ":batch"}).query(before, at_most);
      while (rows.next()) letters.emplace_back(rows.integer(0), rows.integer(1));
    }
    for (const auto& [id, life] : letters) {
      db.statement("purge_dead_letter.sql", {":id", ":life"}).run(id, life);
      if (db.statement("purge_dead.sql", {":id"}).run(id) == 1)
        db.statement("attempt_purge.sql", {":id"}).run(id);
    }
    return static_cast<std::int64_t>(letters.size());
  });
}

// ---- relays

std::vector<RelayRow> SqliteAdmin::relays() {
  return reading([](Connection& db, std::int64_t) {
    std::vector<RelayRow> out;
    auto rows = db.statement("relays.sql", {}).query();
    while (rows.next()) out.push_back(read_relay(rows));
    return out;
  });
}

bool SqliteAdmin::heartbeat(const RelayRow& relay) {
  return writing([&](Connection& db, std::int64_t now) {
    db.statement("heartbeat_silent.sql", {":now"}).run(now);
    auto rows = db.statement("heartbeat.sql", {":claimed_by", ":version", ":workers",
                                               ":leases_held", ":draining", ":now"})
                    .query(relay.claimed_by, relay.version, relay.workers, relay.leases_held,
                           relay.draining, now);
    return rows.next() && rows.flag(0);
  });
}

void SqliteAdmin::say_goodbye(std::string_view claimed_by) {
  writing([&](Connection& db, std::int64_t) {
    return db.statement("goodbye.sql", {":claimed_by"}).run(claimed_by);
  });
}

bool SqliteAdmin::ask_to_drain(std::string_view claimed_by) {
  return writing([&](Connection& db, std::int64_t) {
    return db.statement("ask_to_drain.sql", {":claimed_by"}).run(claimed_by) == 1;
  });
}

}  // namespace pillarbox::sqlite
