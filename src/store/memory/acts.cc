// SPDX-License-Identifier: Apache-2.0
#include "store/memory/acts.h"

#include "core/type_pattern.h"

namespace pillarbox::memory {
namespace {

// Applies `one` to each target that has not moved on and is in a state that allows it; one line of
// audit.
template <class Allowed, class One>
ActResult each(Tables& tables, const Act& act, std::string_view action, DbTime now,
               const Allowed& allowed, const One& one) {
  ActResult result;
  for (const ActTarget& target : act.targets) {
    const Row* row = tables.find(to_int(target.id));
    if (row == nullptr || row->claim_no != target.claim_no || !allowed(*row)) {
      ++result.skipped;
      continue;
    }
    one(*row);
    ++result.done;
  }
  tables.audit.push_back({now, std::string(act.who), std::string(action),
                          std::to_string(result.done) + " messages", std::string(act.why)});
  return result;
}

void remember_act(Tables& tables, const Row& row, std::string_view outcome,
                  std::string_view claimed_by, std::string error, DbTime now) {
  AttemptRow entry;
  entry.life = row.life;
  entry.attempt = row.attempts;
  entry.claim_no = row.claim_no;
  entry.claimed_by = std::string(claimed_by);
  entry.ended_at = now;
  entry.outcome = std::string(outcome);
  entry.error = std::move(error);
  tables.attempts[row.id].push_back(std::move(entry));
}

}  // namespace

ActResult replay(Tables& tables, const Act& act, DbTime now) {
  const auto dead = [](const Row& row) { return row.status == Status::dead; };
  return each(tables, act, "replay", now, dead, [&](const Row& row) {
    tables.erase(DeadLetterKey{row.id, row.life});
    tables.change(row.id, [&](Row& changed) {
      changed.status = Status::pending;
      changed.attempts = 0;
      changed.life += 1;
      changed.available_at = now;
      changed.last_error.clear();
      if (changed.expires_at && *changed.expires_at <= now) changed.expires_at.reset();
    });
    remember_act(tables, row, "replayed", act.who, std::string(act.why), now);
  });
}

ActResult discard(Tables& tables, const Act& act, DbTime now) {
  const auto at_rest = [](const Row& row) {
    return row.status == Status::dead || row.status == Status::pending;
  };
  return each(tables, act, "discard", now, at_rest, [&](const Row& row) {
    DeadLetter tombstone;
    const auto it = tables.dead_letters().find({row.id, row.life});
    if (it != tables.dead_letters().end()) {
      tombstone = it->second;
    } else {
      tombstone.id = RowId{row.id};
      tombstone.message_id = row.message_id;
      tombstone.job_type = row.job_type;
      tombstone.ordering_key = row.ordering_key;
      tombstone.reason = DeadReason::permanent;
      tombstone.code = "discarded";
      tombstone.error = "discarded before it was delivered";
      tombstone.attempts = row.attempts;
      tombstone.life = row.life;
      tombstone.dead_at = now;
    }
    tombstone.holds_key = false;
    tombstone.discarded_at = now;
    tombstone.discarded_by = std::string(act.who);
    tombstone.discard_reason = std::string(act.why);
    tables.put(std::move(tombstone));
    tables.erase(row.id);
  });
}

ActResult release(Tables& tables, const Act& act, DbTime now) {
  const auto claimed = [](const Row& row) { return row.status == Status::claimed; };
  return each(tables, act, "release", now, claimed, [&](const Row& row) {
    remember_act(tables, row, "released_by_operator", row.claimed_by,
                 std::string(act.who) + ": " + std::string(act.why), now);
    tables.change(row.id, [&](Row& changed) {
      changed.status = Status::pending;
      changed.claimed_by.clear();
      changed.locked_until.reset();
      changed.available_at = now;
    });
  });
}

std::int64_t brake(Tables& tables, std::string_view scope, std::string_view who,
                   std::string_view why, DbTime now) {
  core::check_brake_scope(scope);
  tables.brakes[std::string(scope)] = {std::string(scope), std::string(why), std::string(who), now};
  tables.audit.push_back({now, std::string(who), "pause", std::string(scope), std::string(why)});
  return claimed_in_scope(tables, scope, now);
}

bool unbrake(Tables& tables, std::string_view scope, std::string_view who, DbTime now) {
  core::check_brake_scope(scope);
  if (tables.brakes.erase(std::string(scope)) == 0) return false;
  tables.audit.push_back({now, std::string(who), "resume", std::string(scope), ""});
  return true;
}

std::int64_t claimed_in_scope(const Tables& tables, std::string_view scope, DbTime now) {
  std::int64_t count = 0;
  const auto add = [&](const Row& row) {
    if (row.leased(now) && core::brake_covers(scope, row.job_type)) ++count;
  };
  for (const auto& [until, id] : tables.leases()) add(*tables.find(id));
  for (const auto& [name, key] : tables.keys()) {
    for (const Id id : key.claimed) add(*tables.find(id));
  }
  return count;
}

std::int64_t purge(Tables& tables, PurgeKind kind, Millis age, std::size_t batch, DbTime now) {
  const DbTime before = earlier(now, age);
  std::vector<Id> rows;
  std::vector<DeadLetterKey> letters;
  std::vector<InboxKey> handled;
  switch (kind) {
    case PurgeKind::dispatched:
      for (const auto& [at, id] : tables.dispatched()) {
        if (rows.size() == batch || at >= before) break;
        rows.push_back(id);
      }
      break;
    case PurgeKind::dead:
      for (const auto& [key, letter] : tables.dead_letters()) {
        if (rows.size() == batch) break;
        if (letter.discarded_at || letter.holds_key || letter.dead_at >= before) continue;
        rows.push_back(key.first);
        letters.push_back(key);
      }
      break;
    case PurgeKind::tombstones:
      for (const auto& [key, letter] : tables.dead_letters()) {
        if (letters.size() == batch) break;
        if (letter.discarded_at && *letter.discarded_at < before) letters.push_back(key);
      }
      break;
    case PurgeKind::inbox:
      for (const auto& [key, at] : tables.inbox) {
        if (handled.size() == batch) break;
        if (at < before) handled.push_back(key);
      }
      break;
  }
  for (const DeadLetterKey& key : letters) tables.erase(key);
  for (const Id id : rows) tables.erase(id);
  for (const InboxKey& key : handled) tables.inbox.erase(key);
  return static_cast<std::int64_t>(kind == PurgeKind::tombstones ? letters.size()
                                   : kind == PurgeKind::inbox    ? handled.size()
                                                                 : rows.size());
}

bool heartbeat(Tables& tables, const RelayRow& relay, DbTime now) {
  const DbTime silent = earlier(now, std::chrono::hours(24));
  std::erase_if(tables.relays,
                [&](const auto& entry) { return entry.second.row.heartbeat_at < silent; });
  const bool is_new = tables.relays.find(relay.claimed_by) == tables.relays.end();
  RelayEntry& entry = tables.relays[relay.claimed_by];
  const DbTime started_at = is_new ? now : entry.row.started_at;
  entry.row = relay;
  entry.row.started_at = started_at;
  entry.row.heartbeat_at = now;
  return entry.drain_asked;
}

}  // namespace pillarbox::memory
