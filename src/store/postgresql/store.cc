// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/store.h"

#include <algorithm>
#include <set>

#include "core/assert.h"
#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"

namespace pillarbox::postgresql {
namespace {

constexpr std::size_t kErrorBytes = 2'000;
constexpr std::size_t kCodeBytes = 100;
constexpr std::size_t kKeysAtOnce = 1'000;  // looked at in one statement
constexpr Millis kKeyedBudget{50};          // for going on to further keys in one claim
constexpr std::size_t kSmallClaim = 16;     // below it, the two kinds of messages take turns
constexpr std::int64_t kLowWaterLagUs =
    1'000'000;  // late commits of short transactions need no sweep

ClaimedMessage read_message(const Result& result, int row) {
  ClaimedMessage message;
  message.lease = {RowId(result.integer(row, 0)), result.integer(row, 1)};
  message.message_id = result.uuid(row, 2);
  message.job_type = result.text(row, 3);
  message.payload = result.text(row, 4);
  message.content_type = result.text(row, 5);
  if (!result.is_null(row, 6)) {
    if (auto headers = json::parse_headers(result.bytes(row, 6))) {
      message.headers = std::move(*headers);
    } else {
      message.defect = "headers is not a JSON object of strings";
    }
  }
  message.correlation_id = result.text(row, 7);
  message.ordering_key = result.text(row, 8);
  message.occurred_at = result.time(row, 9);
  message.available_at = result.time(row, 10);
  message.attempts = static_cast<std::int32_t>(result.integer(row, 11));
  message.life = static_cast<std::int32_t>(result.integer(row, 12));
  message.expired = result.boolean(row, 13);
  message.reclaimed = result.boolean(row, 14);
  return message;
}

// The rows that hold a message, by when they were available and then by id.
std::vector<int> rows_in_order(const Result& result) {
  std::vector<std::pair<DbTime, std::int64_t>> keys;
  std::vector<int> rows;
  for (int row = 0; row < result.rows(); ++row) {
    keys.emplace_back(result.time(row, 10), result.integer(row, 0));
    if (!result.is_null(row, 0)) rows.push_back(row);
  }
  const auto earlier = [&keys](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier))
    std::sort(rows.begin(), rows.end(), earlier);
  return rows;
}

// Those of `leases` that are not among the answer's ids and claim numbers.
std::vector<Lease> missing(std::span<const Lease> leases, const Result& result) {
  if (static_cast<std::size_t>(result.rows()) == leases.size()) return {};
  std::set<Lease> ours;
  for (int row = 0; row < result.rows(); ++row)
    ours.insert(Lease{RowId{result.integer(row, 0)}, result.integer(row, 1)});
  std::vector<Lease> lost;
  for (const Lease& lease : leases) {
    if (!ours.contains(lease)) lost.push_back(lease);
  }
  return lost;
}

// Sorted by id: whoever locks many rows locks them in one order.
struct LeaseArrays {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> claim_nos;
};

LeaseArrays arrays_of(std::span<const Lease> leases) {
  std::vector<Lease> sorted(leases.begin(), leases.end());
  std::sort(sorted.begin(), sorted.end());
  LeaseArrays arrays;
  arrays.ids.reserve(sorted.size());
  arrays.claim_nos.reserve(sorted.size());
  for (const Lease& lease : sorted) {
    PILLARBOX_ASSERT(lease.claim_no > 0);
    arrays.ids.push_back(to_int(lease.id));
    arrays.claim_nos.push_back(lease.claim_no);
  }
  return arrays;
}

}  // namespace

PostgresqlStore::PostgresqlStore(const StoreOptions& options)
    : claimed_by_(options.claimed_by),
      keep_dispatched_(options.keep_dispatched),
      session_(read_location(options.url), options, "relay") {}

// ---- claim ----

PostgresqlStore::Shares PostgresqlStore::shares_of(std::size_t count_max) const noexcept {
  if (count_max < kSmallClaim) return keyed_turn_ ? Shares{count_max, 0} : Shares{0, count_max};
  // Keyed messages get twice what they had last, up to a half when the others could fill the rest.
  const std::size_t floor = count_max / kSmallClaim;
  const std::size_t ceiling = unkeyed_full_ ? count_max / 2 : count_max - floor;
  const std::size_t keyed = std::clamp(2 * keyed_seen_, floor, ceiling);
  return {keyed, count_max - keyed};
}

Call PostgresqlStore::unkeyed_call(const ClaimRequest& request, std::size_t count) const {
  Call call{"claim", {}};
  call.parameters.text(claimed_by_)
      .int8(request.lease.count())
      .int8(static_cast<std::int64_t>(count))
      .int8(static_cast<std::int64_t>(request.bytes_max))
      .time(request.sweep ? std::nullopt : low_water_)
      .text_array(request.excluded_types);
  return call;
}

Call PostgresqlStore::keyed_call(const ClaimRequest& request, std::size_t count) const {
  Call call{"claim_keyed", {}};
  call.parameters.text(claimed_by_)
      .int8(request.lease.count())
      .int8(static_cast<std::int64_t>(count))
      .int8(static_cast<std::int64_t>(request.bytes_max))
      .text(last_key_)
      .text_array(request.excluded_types)
      .int4(static_cast<std::int32_t>(std::max(kKeysAtOnce, count)));
  return call;
}

void PostgresqlStore::take_unkeyed(const Result& result, const ClaimRequest& request,
                                   std::size_t count, ClaimResult& out) {
  const int rows = result.rows();
  const std::size_t seen = rows == 0 ? 0 : static_cast<std::size_t>(result.integer(0, 15));
  const bool full = rows > 0 && (seen >= count || static_cast<std::size_t>(rows) < seen);
  unkeyed_full_ = full;
  out.more = out.more || full;
  for (const int row : rows_in_order(result)) out.messages.push_back(read_message(result, row));
  if (rows == 0) return;
  const auto reached =
      static_cast<DbTime>(to_int(out.messages.back().available_at) - kLowWaterLagUs);
  // A sweep that was cut off goes on from where it came, even if that is behind the mark.
  if (request.sweep ? full || !low_water_ || reached > *low_water_
                    : !low_water_ || reached > *low_water_) {
    low_water_ = reached;
  }
}

void PostgresqlStore::take_keyed(const Result& result, std::size_t count, ClaimResult& out) {
  const std::size_t visited = static_cast<std::size_t>(result.integer(0, 15));
  const std::size_t limit = std::max(kKeysAtOnce, count);
  const std::vector<int> rows = rows_in_order(result);
  const std::size_t taken = rows.size();
  for (const int row : rows) out.messages.push_back(read_message(result, row));
  const std::size_t seen = static_cast<std::size_t>(result.integer(0, 17));
  keyed_seen_ += taken;
  if (seen >= count || taken < seen) {
    // Cut off among these keys: the next claim looks at them again, from behind the last one taken.
    std::string furthest;
    for (const ClaimedMessage& message : out.messages)
      furthest = std::max(furthest, message.ordering_key);
    last_key_ = furthest;
    keys_remain_ = true;
    out.more = true;
    return;
  }
  keys_remain_ = visited >= limit;
  last_key_ = keys_remain_ ? result.text(0, 16) : std::string{};
}

ClaimResult PostgresqlStore::claim(const ClaimRequest& request) {
  return repeat_on_conflict([&] {
    ClaimResult out;
    const Instant began = std::chrono::steady_clock::now();
    const Shares shares = shares_of(request.count_max);
    const auto ask = [this](Call call) {
      std::vector<Call> calls;
      calls.push_back(std::move(call));
      return std::move(session_.transaction("claim", std::move(calls), "claim_settings").front());
    };
    const bool from_the_first = last_key_.empty();
    std::vector<Call> calls;
    if (shares.keyed > 0) calls.push_back(keyed_call(request, shares.keyed));
    if (shares.unkeyed > 0) calls.push_back(unkeyed_call(request, shares.unkeyed));
    const std::vector<Result> answers =
        session_.transaction("claim", std::move(calls), "claim_settings");
    std::size_t at = 0;
    keyed_seen_ = 0;
    if (shares.keyed > 0) take_keyed(answers[at++], shares.keyed, out);
    if (shares.unkeyed > 0) take_unkeyed(answers[at], request, shares.unkeyed, out);

    // Keys are visited in turns; when a turn brought nothing, go on until all were seen or the time
    // is over.
    bool all_seen = from_the_first && !keys_remain_;
    while (shares.keyed > 0 && out.messages.empty() && !all_seen &&
           std::chrono::steady_clock::now() - began < kKeyedBudget) {
      const bool first = last_key_.empty();
      take_keyed(ask(keyed_call(request, shares.keyed)), shares.keyed, out);
      all_seen = first && !keys_remain_;
    }
    if (keys_remain_ && !all_seen) out.more = true;

    if (request.count_max < kSmallClaim) {
      keyed_turn_ = !keyed_turn_;
      if (out.messages.empty()) {
        // The other kind, before we say that there is nothing.
        const Shares other = shares_of(request.count_max);
        if (other.keyed > 0) {
          take_keyed(ask(keyed_call(request, other.keyed)), other.keyed, out);
          if (!from_the_first && out.messages.empty() && last_key_.empty()) {
            take_keyed(ask(keyed_call(request, other.keyed)), other.keyed, out);
          }
        } else {
          take_unkeyed(ask(unkeyed_call(request, other.unkeyed)), request, other.unkeyed, out);
        }
      }
      if (!out.messages.empty()) out.more = true;
    }
    return out;
  });
}

// ---- renew, settle ----

std::vector<Lease> PostgresqlStore::renew(std::span<const Lease> leases, Millis extension) {
  if (leases.empty()) return {};
  const LeaseArrays arrays = arrays_of(leases);
  return repeat_on_conflict([&] {
    Call call{"renew", {}};
    call.parameters.text(claimed_by_)
        .int8_array(arrays.ids)
        .int8_array(arrays.claim_nos)
        .int8(extension.count());
    std::vector<Call> calls;
    calls.push_back(std::move(call));
    return missing(leases, session_.transaction("renew", std::move(calls)).front());
  });
}

std::vector<Lease> PostgresqlStore::settle(std::span<const Settlement> settlements) {
  if (settlements.empty()) return {};
  std::vector<Lease> leases;
  leases.reserve(settlements.size());
  for (const Settlement& settlement : settlements) leases.push_back(settlement.lease);
  const bool all_dispatched =
      std::all_of(settlements.begin(), settlements.end(),
                  [](const Settlement& s) { return s.kind == SettleKind::dispatched; });
  if (!all_dispatched) return settle_mixed(leases, settlements);
  const LeaseArrays arrays = arrays_of(leases);
  const bool first_claims = std::all_of(arrays.claim_nos.begin(), arrays.claim_nos.end(),
                                        [](std::int64_t claim_no) { return claim_no == 1; });
  return repeat_on_conflict([&] {
    Call call{keep_dispatched_ ? "settle_dispatched"
              : first_claims   ? "settle_leave_first"
                               : "settle_leave",
              {}};
    call.parameters.text(claimed_by_).int8_array(arrays.ids);
    if (keep_dispatched_ || !first_claims) call.parameters.int8_array(arrays.claim_nos);
    std::vector<Call> calls;
    calls.push_back(std::move(call));
    return missing(leases, session_.transaction("settle", std::move(calls)).front());
  });
}

std::vector<Lease> PostgresqlStore::settle_mixed(std::span<const Lease> leases,
                                                 std::span<const Settlement> settlements) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> claim_nos;
  std::vector<std::int16_t> kinds;
  std::vector<std::int64_t> delays;
  std::vector<std::string_view> reasons;
  std::vector<std::int16_t> policies;
  std::vector<std::string> codes;
  std::vector<std::string> errors;
  std::vector<std::int64_t> took;
  for (const Settlement& settlement : settlements) {
    PILLARBOX_ASSERT(settlement.lease.claim_no > 0);
    ids.push_back(to_int(settlement.lease.id));
    claim_nos.push_back(settlement.lease.claim_no);
    kinds.push_back(static_cast<std::int16_t>(settlement.kind));
    delays.push_back(settlement.delay.count());
    reasons.push_back(to_string(settlement.reason));
    policies.push_back(static_cast<std::int16_t>(settlement.key_policy));
    // What the mark writes must never be a reason to refuse it.
    codes.push_back(core::storable_text(settlement.code, kCodeBytes));
    errors.push_back(core::storable_text(settlement.error, kErrorBytes));
    took.push_back(settlement.took.count());
  }
  return repeat_on_conflict([&] {
    Call call{"settle", {}};
    call.parameters.text(claimed_by_)
        .int8_array(ids)
        .int8_array(claim_nos)
        .int2_array(kinds)
        .int8_array(delays)
        .text_array(reasons)
        .int2_array(policies)
        .text_array(codes)
        .text_array(errors)
        .int8_array(took)
        .boolean(keep_dispatched_);
    std::vector<Call> calls;
    calls.push_back(std::move(call));
    return missing(leases, session_.transaction("settle", std::move(calls)).front());
  });
}

}  // namespace pillarbox::postgresql
