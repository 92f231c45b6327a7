// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/store.h"

#include <algorithm>

#include "core/assert.h"
#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"

namespace pillarbox::sqlite {
namespace {

constexpr std::size_t kScanMax =
    10'000;                              // rows of excluded or braked types that one claim looks at
constexpr std::size_t kKeysMax = 2'000;  // keys that one claim visits
constexpr std::int64_t kBehindMs = 1'000;
constexpr std::size_t kErrorBytes = 2'000;
constexpr std::size_t kCodeBytes = 100;

std::string json_array(std::span<const std::string> texts) {
  json::Writer writer;
  writer.begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
  return writer.take();
}

// Adds up to the limits of a claim; says whether a further message may be added.
class Budget {
 public:
  explicit Budget(const ClaimRequest& request)
      : count_max_(request.count_max), bytes_max_(request.bytes_max) {}
  bool admits(std::int64_t payload_bytes) {
    if (count_ == count_max_) return false;
    const auto bytes = bytes_ + static_cast<std::uint64_t>(payload_bytes);
    if (count_ > 0 && bytes > bytes_max_) return false;
    ++count_;
    bytes_ = bytes;
    return true;
  }

 private:
  std::size_t count_max_;
  std::uint64_t bytes_max_;
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

SqliteStore::SqliteStore(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer)
    : claimed_by_(options.claimed_by),
      keep_dispatched_(options.keep_dispatched),
      session_(
          options, std::move(checkpointer),
          {.synchronous_full = parse_location(options.url).synchronous_full, .cache_kib = 4096}) {}

// ---- claim

ClaimResult SqliteStore::claim(const ClaimRequest& request) {
  if (request.count_max == 0) return {};
  return session_.call([&](Connection& db) {
    if (idle_) {
      // An idle relay looks first: it takes no write lock and waits for no writer.
      const Transaction look(db, Transaction::Kind::read);
      const Found found = find(db, request, db.now());
      if (found.nothing()) {
        key_after_ = found.keys_seen_to;
        return ClaimResult{{}, found.more};
      }
    }
    Transaction transaction(db, Transaction::Kind::write);
    const std::int64_t now = db.now();
    Found found = find(db, request, now);
    const std::vector<Candidate> chosen = choose(request, found);
    ClaimResult result;
    result.more = found.more;
    idle_ = chosen.empty();
    if (idle_) return result;
    result.messages.reserve(chosen.size());
    for (const Candidate& candidate : chosen)
      result.messages.push_back(take(db, candidate, now, request.lease));
    transaction.commit();
    session_.committed(db);
    return result;
  });
}

// Messages with and without a key take turns, so neither kind waits for the other to run dry. The
// one that did not fit has the first turn of the next claim.
std::vector<SqliteStore::Candidate> SqliteStore::choose(const ClaimRequest& request, Found& found) {
  const auto by_age = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.available_at, a.id) < std::pair(b.available_at, b.id);
  };
  std::sort(found.unkeyed.begin(), found.unkeyed.end(), by_age);
  std::vector<Candidate> chosen;
  chosen.reserve(std::min(request.count_max, found.unkeyed.size() + found.heads.size()));
  Budget budget(request);
  auto unkeyed = found.unkeyed.cbegin();
  auto head = found.heads.cbegin();
  while (unkeyed != found.unkeyed.cend() || head != found.heads.cend()) {
    const bool keyed =
        head != found.heads.cend() && (keys_first_ || unkeyed == found.unkeyed.cend());
    const Candidate& candidate = keyed ? head->candidate : *unkeyed;
    if (!budget.admits(candidate.payload_bytes)) {
      found.more = true;
      break;
    }
    chosen.push_back(candidate);
    keys_first_ = !keyed;
    if (keyed) {
      key_after_ = head->ordering_key;
      ++head;
    } else {
      ++unkeyed;
    }
  }
  if (head == found.heads.cend()) key_after_ = found.keys_seen_to;
  std::sort(chosen.begin(), chosen.end(), by_age);
  return chosen;
}

SqliteStore::Found SqliteStore::find(Connection& db, const ClaimRequest& request,
                                     std::int64_t now) {
  excluded_ = json_array(request.excluded_types);
  std::string brakes;
  {
    auto rows = db.statement("brake_scopes.sql", {}).query();
    if (rows.next()) brakes = rows.text(0);
  }
  Found found;
  if (brakes == "all" || brakes.starts_with("all\n")) return found;
  filtered_ = !brakes.empty() || !request.excluded_types.empty();
  std::string skipping = brakes + '\n' + excluded_;
  if (request.sweep || skipping != skipped_for_) {
    position_ = {};
    skipped_for_ = std::move(skipping);
  }
  find_lost(db, request, now, found);
  find_pending(db, request, now, found);
  find_keys(db, request, now, found);
  return found;
}

void SqliteStore::find_lost(Connection& db, const ClaimRequest& request, std::int64_t now,
                            Found& found) {
  Budget limits(request);
  auto rows = db.statement("claim_lost.sql", {":now", ":filtered", ":excluded"})
                  .query(now, filtered_, excluded_);
  for (std::size_t scanned = 0; rows.next(); ++scanned) {
    if (rows.flag(3)) {
      if (scanned < kScanMax) continue;
      break;
    }
    if (!limits.admits(rows.integer(2))) {
      found.more = true;
      break;
    }
    found.unkeyed.push_back({rows.integer(0), rows.integer(1), rows.integer(2)});
  }
}

void SqliteStore::find_pending(Connection& db, const ClaimRequest& request, std::int64_t now,
                               Found& found) {
  Budget limits(request);
  auto rows = db.statement("claim_pending.sql",
                           {":now", ":available_from", ":id_from", ":filtered", ":excluded"})
                  .query(now, position_.available_at, position_.id, filtered_, excluded_);
  for (std::size_t skipped = 0; rows.next();) {
    const Candidate candidate{rows.integer(0), rows.integer(1), rows.integer(2)};
    if (rows.flag(3)) {
      if (++skipped < kScanMax) continue;
      found.more = true;
      // Only when nothing before it was left for a later claim.
      if (found.unkeyed.empty() && candidate.available_at < now - kBehindMs)
        position_ = {candidate.available_at, candidate.id};
      break;
    }
    if (!limits.admits(candidate.payload_bytes)) {
      found.more = true;
      break;
    }
    found.unkeyed.push_back(candidate);
  }
}

void SqliteStore::find_keys(Connection& db, const ClaimRequest& request, std::int64_t now,
                            Found& found) {
  // No more than can be taken beside what waits without a key.
  ClaimRequest share = request;
  share.count_max = std::max(request.count_max - std::min(request.count_max, found.unkeyed.size()),
                             (request.count_max + 1) / 2);
  Budget budget(share);
  Statement& next_key =
      db.statement("claim_key.sql", {":key_after", ":now", ":filtered", ":excluded"});
  std::string& at = found.keys_seen_to;
  at = key_after_;
  bool wrapped = at.empty();
  for (std::size_t visited = 0;; ++visited) {
    if (visited == kKeysMax) {
      // Keys beyond are for the next call; after two rounds for nothing there is nothing.
      if (rounds_without_find_ < 2) found.more = true;
      return;
    }
    auto rows = next_key.query(at, now, filtered_, excluded_);
    if (!rows.next()) {
      at.clear();
      ++rounds_without_find_;
      if (wrapped) return;
      wrapped = true;
      continue;
    }
    std::string key = rows.text(0);
    if (wrapped && !key_after_.empty() && key > key_after_) return;  // once around
    if (rows.flag(4)) {
      if (!budget.admits(rows.integer(3))) {
        found.more = true;
        return;
      }
      rounds_without_find_ = 0;
      found.heads.push_back({{rows.integer(1), rows.integer(2), rows.integer(3)}, key});
    }
    at = std::move(key);
  }
}

ClaimedMessage SqliteStore::take(Connection& db, const Candidate& candidate, std::int64_t now,
                                 Millis lease) {
  ClaimedMessage message;
  std::string headers;
  {
    auto rows = db.statement("claim_read.sql", {":id", ":now"}).query(candidate.id, now);
    const bool there = rows.next();
    PILLARBOX_ASSERT(there);
    message.lease = {RowId{candidate.id}, rows.integer(0) + 1};
    if (const auto id = MessageId::parse(rows.bytes(1))) {
      message.message_id = *id;
    } else {
      message.defect = "its message_id is not a UUID";
    }
    message.job_type = rows.bytes(2);
    message.content_type = rows.bytes(3);
    headers = rows.bytes(4);
    message.correlation_id = rows.bytes(5);
    message.ordering_key = rows.bytes(6);
    message.occurred_at = DbTime{rows.integer(7) * 1000};
    message.available_at = DbTime{rows.integer(8) * 1000};
    message.attempts =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(rows.integer(9), 0, INT32_MAX - 1) + 1);
    message.life = static_cast<std::int32_t>(rows.integer(10));
    message.reclaimed = rows.flag(11);
    message.expired = rows.flag(12);
    message.payload = rows.bytes(13);
  }
  if (headers != "{}") {
    if (auto parsed = json::parse_headers(headers)) {
      message.headers = std::move(*parsed);
    } else {
      message.defect = "its headers are not a JSON object of strings";
    }
  }
  if (message.reclaimed)
    db.statement("claim_reclaimed.sql", {":id", ":now"}).run(candidate.id, now);
  const std::int64_t changed =
      db.statement("claim.sql", {":id", ":now", ":lease_ms", ":claimed_by"})
          .run(candidate.id, now, lease, claimed_by_);
  PILLARBOX_ASSERT(changed == 1);
  return message;
}

// ---- renew

std::vector<Lease> SqliteStore::renew(std::span<const Lease> leases, Millis extension) {
  if (leases.empty()) return {};
  return session_.call([&](Connection& db) {
    std::vector<Lease> lost;
    Transaction transaction(db, Transaction::Kind::write);
    const std::int64_t now = db.now();
    Statement& statement =
        db.statement("renew.sql", {":id", ":claimed_by", ":claim_no", ":now", ":extension_ms"});
    for (const Lease& lease : leases) {
      if (statement.run(lease.id, claimed_by_, lease.claim_no, now, extension) == 0)
        lost.push_back(lease);
    }
    transaction.commit();
    session_.committed(db);
    return lost;
  });
}

// ---- settle

std::vector<Lease> SqliteStore::settle(std::span<const Settlement> settlements) {
  if (settlements.empty()) return {};
  return session_.call([&](Connection& db) {
    std::vector<Lease> lost;
    Transaction transaction(db, Transaction::Kind::write);
    const std::int64_t now = db.now();
    for (const Settlement& settlement : settlements) {
      if (!settle_one(db, settlement, now)) lost.push_back(settlement.lease);
    }
    transaction.commit();
    session_.committed(db);
    return lost;
  });
}

bool SqliteStore::settle_one(Connection& db, const Settlement& settlement, std::int64_t now) {
  const Lease& lease = settlement.lease;
  if (settlement.kind == SettleKind::dispatched) {
    if (keep_dispatched_)
      return db.statement("settle_dispatched.sql", {":id", ":claimed_by", ":claim_no", ":now"})
                 .run(lease.id, claimed_by_, lease.claim_no, now) == 1;
    if (db.statement("settle_dispatched_away.sql", {":id", ":claimed_by", ":claim_no"})
            .run(lease.id, claimed_by_, lease.claim_no) == 0)
      return false;
    db.statement("attempt_purge.sql", {":id"}).run(lease.id);
    return true;
  }
  const std::string error = core::storable_text(settlement.error, kErrorBytes);
  const std::string code = core::storable_text(settlement.code, kCodeBytes);
  const auto remember_attempt = [&](std::string_view outcome) {
    return db.statement("settle_attempt.sql", {":id", ":claimed_by", ":claim_no", ":now",
                                               ":took_ms", ":outcome", ":code", ":error"})
               .run(lease.id, claimed_by_, lease.claim_no, now, settlement.took, outcome, code,
                    error) == 1;
  };
  switch (settlement.kind) {
    case SettleKind::dispatched:
      break;  // above
    case SettleKind::retry:
      if (!remember_attempt("retry")) return false;
      db.statement("settle_retry.sql",
                   {":id", ":claimed_by", ":claim_no", ":now", ":delay_ms", ":error"})
          .run(lease.id, claimed_by_, lease.claim_no, now, settlement.delay, error);
      return true;
    case SettleKind::release:
      if (!code.empty() && !remember_attempt("release")) return false;
      return db.statement("settle_release.sql",
                          {":id", ":claimed_by", ":claim_no", ":now", ":delay_ms", ":error"})
                 .run(lease.id, claimed_by_, lease.claim_no, now, settlement.delay,
                      error.empty() ? std::nullopt : std::optional(error)) == 1;
    case SettleKind::dead: {
      if (!remember_attempt("dead")) return false;
      const bool holds = settlement.key_policy != KeyPolicy::skip;
      db.statement("settle_dead_letter.sql", {":id", ":claimed_by", ":claim_no", ":now", ":reason",
                                              ":code", ":error", ":holds_key"})
          .run(lease.id, claimed_by_, lease.claim_no, now, to_string(settlement.reason), code,
               error, holds);
      db.statement("settle_dead.sql", {":id", ":claimed_by", ":claim_no", ":error"})
          .run(lease.id, claimed_by_, lease.claim_no, error);
      if (settlement.key_policy == KeyPolicy::park) {
        db.statement("settle_park_letters.sql", {":id", ":now"}).run(lease.id, now);
        db.statement("settle_park.sql", {":id"}).run(lease.id);
      }
      return true;
    }
  }
  PILLARBOX_ASSERT(false);
  return false;
}

}  // namespace pillarbox::sqlite
