// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/utf8.h"
#include "store/memory/work.h"

namespace pillarbox::memory {
namespace {

constexpr std::size_t kErrorBytes = 2'000;
constexpr std::size_t kCodeBytes = 100;
constexpr std::string_view kParkedError = "an earlier message of its ordering_key died";

// Guarantee 4: id, status, claimed_by and claim_no.
bool is_ours(const Tables& tables, std::string_view claimed_by, const Lease& lease) {
  const Row* row = tables.find(to_int(lease.id));
  return row != nullptr && row->status == Status::claimed && row->claimed_by == claimed_by &&
         row->claim_no == lease.claim_no;
}

void remember_attempt(Tables& tables, const Row& row, const Settlement& settlement,
                      std::string_view error, DbTime now) {
  AttemptRow attempt;
  attempt.life = row.life;
  attempt.attempt = row.attempts;
  attempt.claim_no = row.claim_no;
  attempt.claimed_by = row.claimed_by;
  attempt.started_at = earlier(now, settlement.took);
  attempt.ended_at = now;
  attempt.outcome = std::string(to_string(settlement.kind));
  attempt.code = core::storable_text(settlement.code, kCodeBytes);
  attempt.error = std::string(error);
  attempt.took_ms = settlement.took.count();
  tables.attempts[row.id].push_back(std::move(attempt));
}

void free_row(Row& row, Status status) {
  row.status = status;
  row.claimed_by.clear();
  row.locked_until.reset();
}

struct Death {
  DeadReason reason{};
  std::string_view code;
  std::string_view error;
  bool holds_key = false;
};

void die(Tables& tables, Id id, const Death& death, DbTime now) {
  const Row& row = *tables.find(id);
  DeadLetter letter;
  letter.id = RowId{id};
  letter.message_id = row.message_id;
  letter.job_type = row.job_type;
  letter.ordering_key = row.ordering_key;
  letter.reason = death.reason;
  letter.code = std::string(death.code);
  letter.error = std::string(death.error);
  letter.attempts = row.attempts;
  letter.life = row.life;
  letter.dead_at = now;
  letter.holds_key = death.holds_key && !row.ordering_key.empty();
  tables.put(std::move(letter));
  tables.change(id, [&](Row& changed) {
    free_row(changed, Status::dead);
    changed.last_error = std::string(death.error);
  });
}

void park_key(Tables& tables, const std::string& ordering_key, DbTime now) {
  const auto key = tables.keys().find(ordering_key);
  if (key == tables.keys().end()) return;
  const std::vector<Id> waiting(key->second.live.begin(), key->second.live.end());
  for (const Id id : waiting) {
    if (tables.find(id)->status == Status::pending)
      die(tables, id, {DeadReason::parked, "parked", kParkedError, true}, now);
  }
}

void settle_one(Tables& tables, const Settlement& settlement, bool keep_dispatched, DbTime now) {
  const Id id = to_int(settlement.lease.id);
  const Row& row = *tables.find(id);
  const std::string error = core::storable_text(settlement.error, kErrorBytes);
  switch (settlement.kind) {
    case SettleKind::dispatched:
      if (!keep_dispatched) {
        tables.erase(id);
        return;
      }
      tables.change(id, [&](Row& changed) {
        free_row(changed, Status::dispatched);
        changed.dispatched_at = now;
        changed.last_error.clear();
      });
      return;
    case SettleKind::retry:
      remember_attempt(tables, row, settlement, error, now);
      tables.change(id, [&](Row& changed) {
        free_row(changed, Status::pending);
        changed.available_at = later(now, settlement.delay);
        changed.last_error = error;
      });
      return;
    case SettleKind::release:
      if (!settlement.code.empty()) remember_attempt(tables, row, settlement, error, now);
      tables.change(id, [&](Row& changed) {
        free_row(changed, Status::pending);
        changed.available_at = later(now, settlement.delay);
        changed.attempts = std::max(changed.attempts - 1, 0);
        if (!error.empty()) changed.last_error = error;
      });
      return;
    case SettleKind::dead: {
      const std::string ordering_key = row.ordering_key;
      remember_attempt(tables, row, settlement, error, now);
      die(tables, id,
          {settlement.reason, settlement.code, error, settlement.key_policy != KeyPolicy::skip},
          now);
      if (settlement.key_policy == KeyPolicy::park) park_key(tables, ordering_key, now);
      return;
    }
  }
}

}  // namespace

std::vector<Lease> renew(Tables& tables, std::string_view claimed_by, std::span<const Lease> leases,
                         Millis extension, DbTime now) {
  std::vector<Lease> lost;
  for (const Lease& lease : leases) {
    // A lease that ran out is taken up again only while nothing else of its key runs.
    const Row* row = tables.find(to_int(lease.id));
    if (!is_ours(tables, claimed_by, lease) ||
        (!row->leased(now) && tables.key_is_leased(row->ordering_key, now))) {
      lost.push_back(lease);
      continue;
    }
    tables.change(row->id, [&](Row& changed) { changed.locked_until = later(now, extension); });
  }
  return lost;
}

std::vector<Lease> settle(Tables& tables, std::string_view claimed_by,
                          std::span<const Settlement> settlements, bool keep_dispatched,
                          DbTime now) {
  std::vector<Lease> lost;
  for (const Settlement& settlement : settlements) {
    if (is_ours(tables, claimed_by, settlement.lease)) {
      settle_one(tables, settlement, keep_dispatched, now);
    } else {
      lost.push_back(settlement.lease);
    }
  }
  return lost;
}

}  // namespace pillarbox::memory
