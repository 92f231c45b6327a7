// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/type_pattern.h"
#include "store/memory/work.h"

namespace pillarbox::memory {

bool is_braked(const Tables& tables, std::string_view job_type) {
  return std::any_of(tables.brakes.begin(), tables.brakes.end(),
                     [&](const auto& brake) { return core::brake_covers(brake.first, job_type); });
}

namespace {

// The rows that one claim may take, one after the other. Each stream walks an index and leaves out
// what is braked, excluded or held back.
class Candidates {
 public:
  Candidates(const Tables& tables, const ClaimRequest& request, const std::string& key_after,
             DbTime now)
      : tables_(tables),
        request_(request),
        now_(now),
        pending_(tables.pending().begin()),
        lease_(tables.leases().begin()),
        key_(tables.keys().upper_bound(key_after)),
        keys_left_(tables.keys().size()) {}

  // The oldest due message without a key, or nullptr. Stays until skip_unkeyed().
  const Row* unkeyed() {
    const Row* waiting = first_allowed(pending_, tables_.pending().end());
    const Row* lost = first_allowed(lease_, tables_.leases().end());
    if (waiting == nullptr) return lost;
    if (lost == nullptr) return waiting;
    return Position{lost->available_at, lost->id} < Position{waiting->available_at, waiting->id}
               ? lost
               : waiting;
  }
  void skip_unkeyed() {
    const Row* row = unkeyed();
    if (row->status == Status::pending) {
      ++pending_;
    } else {
      ++lease_;
    }
  }

  // The head of the next key that may go, or nullptr. Stays until skip_keyed().
  const Row* keyed() {
    for (; keys_left_ > 0; next_key()) {
      if (key_ == tables_.keys().end()) key_ = tables_.keys().begin();
      const Row& head = *tables_.find(*key_->second.live.begin());
      if (head.available_at <= now_ && !tables_.key_is_leased(key_->first, now_) &&
          !tables_.held_by_dead(key_->first, head.id) && allowed(head))
        return &head;
    }
    return nullptr;
  }
  void skip_keyed() { next_key(); }

 private:
  void next_key() {
    ++key_;
    --keys_left_;
  }
  const Row* first_allowed(std::set<Position>::const_iterator& at,
                           std::set<Position>::const_iterator end) {
    for (; at != end && at->first <= now_; ++at) {
      const Row& row = *tables_.find(at->second);
      if (allowed(row)) return &row;
    }
    return nullptr;
  }
  [[nodiscard]] bool allowed(const Row& row) const {
    // A fencing number is never used twice: a row that has used up all of them stays where it is.
    return row.claim_no < std::numeric_limits<std::int64_t>::max() &&
           std::find(request_.excluded_types.begin(), request_.excluded_types.end(),
                     row.job_type) == request_.excluded_types.end() &&
           !is_braked(tables_, row.job_type);
  }

  const Tables& tables_;
  const ClaimRequest& request_;
  DbTime now_;
  std::set<Position>::const_iterator pending_;
  std::set<Position>::const_iterator lease_;
  std::map<std::string, Tables::Key>::const_iterator key_;
  std::size_t keys_left_;
};

ClaimedMessage take(Tables& tables, Id id, const std::string& claimed_by, Millis lease,
                    DbTime now) {
  const Row& row = *tables.find(id);
  ClaimedMessage message;
  message.reclaimed = row.status == Status::claimed;
  message.expired = row.expires_at && *row.expires_at <= now;
  if (message.reclaimed) {
    AttemptRow lost;
    lost.life = row.life;
    lost.attempt = row.attempts;
    lost.claim_no = row.claim_no;
    lost.claimed_by = row.claimed_by;
    lost.ended_at = now;
    lost.outcome = "lease_lost";
    lost.code = "lease_lost";
    lost.error = "the lease ran out before the outcome was known";
    tables.attempts[id].push_back(std::move(lost));
  }
  tables.change(id, [&](Row& changed) {
    changed.status = Status::claimed;
    changed.claimed_by = claimed_by;
    changed.locked_until = later(now, lease);
    changed.claim_no += 1;
    if (changed.attempts < std::numeric_limits<std::int32_t>::max()) changed.attempts += 1;
  });
  message.lease = {RowId{id}, row.claim_no};
  message.message_id = row.message_id;
  message.job_type = row.job_type;
  message.payload = row.payload;
  message.content_type = row.content_type;
  message.headers = row.headers;
  message.correlation_id = row.correlation_id;
  message.ordering_key = row.ordering_key;
  message.occurred_at = row.occurred_at;
  message.available_at = row.available_at;
  message.attempts = row.attempts;
  message.life = row.life;
  message.defect = row.defect;
  return message;
}

}  // namespace

ClaimResult claim(Tables& tables, Claimant& claimant, const ClaimRequest& request, DbTime now) {
  ClaimResult result;
  std::vector<Position> chosen;
  std::size_t bytes = 0;
  Candidates candidates(tables, request, claimant.key_after, now);
  // Messages with and without a key take turns, so neither kind waits for the other to run dry. The
  // one that did not fit has the first turn of the next claim.
  for (;;) {
    const Row* unkeyed = candidates.unkeyed();
    const Row* keyed = candidates.keyed();
    if (unkeyed == nullptr && keyed == nullptr) break;
    const bool take_keyed = keyed != nullptr && (claimant.keys_first || unkeyed == nullptr);
    const Row& row = take_keyed ? *keyed : *unkeyed;
    const bool fits = chosen.empty() || bytes + row.payload.size() <= request.bytes_max;
    if (chosen.size() >= request.count_max || !fits) {
      result.more = true;
      break;
    }
    chosen.emplace_back(row.available_at, row.id);
    bytes += row.payload.size();
    claimant.keys_first = !take_keyed;
    if (take_keyed) {
      claimant.key_after = row.ordering_key;
      candidates.skip_keyed();
    } else {
      candidates.skip_unkeyed();
    }
  }
  std::sort(chosen.begin(), chosen.end());
  for (const auto& [available_at, id] : chosen)
    result.messages.push_back(take(tables, id, claimant.claimed_by, request.lease, now));
  return result;
}

}  // namespace pillarbox::memory
