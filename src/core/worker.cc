// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/decide.h"
#include "core/retry.h"

namespace pillarbox::core {
namespace {

constexpr RetryPolicy kClaimBackoff{.max_attempts = 0, .base = Millis{100}, .cap = Millis{10'000}};
constexpr RetryPolicy kSettleBackoff{.max_attempts = 0, .base = Millis{20}, .cap = Millis{1'000}};
constexpr int kSweepShare = 20;  // a sweep may take one twentieth of the time

// Trouble of the store as a whole, which passes; else it is about the rows that we wrote.
bool passes(const Failed& failed) {
  return failed.connection_lost || failed.in_doubt || failed.kind == ErrorKind::conflict ||
         failed.kind == ErrorKind::timeout || failed.kind == ErrorKind::unreachable ||
         failed.kind == ErrorKind::schema;
}

}  // namespace

Worker::Worker(WorkerPolicy policy, RouteBoard& board, Random& random)
    : policy_(policy),
      board_(board),
      random_(random),
      rooms_(board.size(), Sink::kNoBound),
      last_claim_(board.size(), 0) {}

void Worker::drain_by(Instant deadline) {
  drain_by_ = drain_by_ ? std::min(*drain_by_, deadline) : deadline;
}

Action Worker::on(Event&& event, Instant now) {
  if (auto* claimed = std::get_if<Claimed>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::claiming);
    take_claimed(std::move(*claimed), now);
  } else if (auto* delivered = std::get_if<Delivered>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::delivering);
    take_delivered(std::move(*delivered), now);
  } else if (const auto* collected = std::get_if<Collected>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::waiting);
    take_collected(*collected, now);
  } else if (const auto* settled = std::get_if<Settled>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::settling);
    take_settled(*settled);
  } else if (const auto* failed = std::get_if<Failed>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::claiming || doing_ == Doing::settling);
    if (doing_ == Doing::settling) {
      take_settle_failure(*failed, now);
    } else {
      ++claim_failures_;
      retry_claim_at_ = now + retry_delay(kClaimBackoff, claim_failures_, random_);
      sweep_next_ = true;  // claims in doubt, and what happened meanwhile
      notes_.push_back({.kind = NoteKind::claim_failed, .text = failed->what});
    }
  } else if (const auto* woken = std::get_if<Woken>(&event)) {
    PILLARBOX_ASSERT(doing_ == Doing::waiting);
    if (woken->by_timer && idle_) sweep_next_ = true;
    was_idle_ = std::exchange(idle_, false);
  } else {
    PILLARBOX_ASSERT(doing_ == Doing::nothing);  // Started
  }
  doing_ = Doing::nothing;
  return next(now);
}

Action Worker::next(Instant now) {
  if (draining()) {
    while (!groups_.empty()) {
      release_group(std::move(groups_.front()), Millis{0}, "shutdown", now);
      groups_.pop_front();
    }
  }
  give_up_in_flight(now);
  if (settle_is_due(now)) {
    if (auto action = next_settle(now)) return *action;
  }
  if (auto action = start_next_group(now)) return *action;
  if (auto action = next_settle(now)) return *action;

  PILLARBOX_ASSERT(groups_.empty() && settlements_.empty() && isolated_.empty());
  keep_alive_what_is_left();
  if (draining()) return in_flight_.empty() ? Action(DoExit{}) : wait(*drain_by_, false);
  if (is_full()) return wait(Instant::max(), false);
  return next_claim(now);
}

// Until then, or until something in flight has ended.
Action Worker::wait(Instant until, bool idle) {
  doing_ = Doing::waiting;
  if (in_flight_.empty()) return DoWait{until, idle};
  for (const InFlight& call : in_flight_) until = std::min(until, call.give_up_at);
  return DoCollect{routes_in_flight(), until, idle};
}

std::vector<RouteIndex> Worker::routes_in_flight() const {
  std::vector<RouteIndex> routes;
  if (in_flight_.empty()) return routes;
  for (RouteIndex route = 0; route < board_.size(); ++route) {
    if (has_in_flight(route)) routes.push_back(route);
  }
  return routes;
}

bool Worker::has_in_flight(RouteIndex route) const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const InFlight& call) { return call.route == route; });
}

// What is claimed now could not start before something has ended.
bool Worker::is_full() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const InFlight& call) { return rooms_[call.route] == 0; });
}

// ---- claim ----

Action Worker::next_claim(Instant now) {
  if (retry_claim_at_ && now < *retry_claim_at_) return wait(*retry_claim_at_, false);
  retry_claim_at_.reset();
  if (idle_) return wait(idle_until_, true);
  DoClaim claim;
  claim.count_max = claim_bound();
  claim.bytes_max = policy_.batch_bytes;
  claim.lease = policy_.lease;
  claim.excluded_types = board_.excluded_types(now, routes_in_flight());
  sweeping_ = std::exchange(sweep_next_, false) || now >= next_sweep_;
  // A busy worker keeps to its schedule: routes that fill and empty ask all the time.
  if ((sweeping_ || std::exchange(was_idle_, false)) && board_.take_sweep_request(now))
    sweeping_ = true;
  claim.sweep = sweeping_;
  doing_ = Doing::claiming;
  return claim;
}

// As many as the sinks can be expected to take in time, if what is claimed next is mixed as what
// was claimed last.
std::size_t Worker::claim_bound() const {
  std::size_t total = 0;
  for (const std::size_t count : last_claim_) total += count;
  std::size_t bound = policy_.batch_size;
  for (RouteIndex route = 0; route < rooms_.size(); ++route) {
    if (last_claim_[route] == 0 || rooms_[route] >= policy_.batch_size) continue;
    bound = std::min(bound, std::max<std::size_t>(1, rooms_[route] * total / last_claim_[route]));
  }
  return bound;
}

void Worker::take_claimed(Claimed&& claimed, Instant now) {
  claim_failures_ = 0;
  if (sweeping_) {
    next_sweep_ = now + std::max<Instant::duration>(policy_.poll_interval,
                                                    kSweepShare * (now - claimed.began));
  }
  idle_ = claimed.result.messages.empty() && !claimed.result.more;
  idle_until_ = now + policy_.poll_interval;
  lease_until_ = claimed.began + policy_.lease;
  keep_alive_what_is_left();

  std::vector<Group> open(board_.size());  // the group of each route that still takes messages
  std::deque<Group> suspects;
  std::size_t reclaimed = 0;
  suspects_begun_ = false;
  if (!claimed.result.messages.empty()) std::fill(last_claim_.begin(), last_claim_.end(), 0);
  for (ClaimedMessage& message : claimed.result.messages) {
    PILLARBOX_ASSERT(message.lease.claim_no > 0);
    leases_.push_back(message.lease);
    if (message.reclaimed) ++reclaimed;
    const auto route = board_.route_of(message.job_type);
    if (!route) {
      if (const auto reason = dead_on_arrival(message, RetryPolicy{.max_attempts = INT32_MAX});
          reason) {
        kill(message, *reason, KeyPolicy::hold, now);
      } else {
        // What is remembered is left alone from now on, and free for a relay that has the route.
        const bool left_alone = board_.remembers(message.job_type);
        release(message, left_alone ? Millis{0} : policy_.unroutable_delay,
                "no route takes this job_type", now);
        notes_.push_back({.kind = NoteKind::unroutable,
                          .id = message.lease.id,
                          .message_id = message.message_id,
                          .text = message.job_type});
      }
      continue;
    }
    ++last_claim_[*route];
    const RouteSettings& settings = board_.settings(*route);
    if (const auto reason = dead_on_arrival(message, board_.retry(*route)); reason) {
      kill(message, *reason, settings.on_dead, now);
      continue;
    }
    if (message.reclaimed) {
      // It may have killed its last holder: alone, so that its neighbours are not taken down with
      // it.
      Group alone{.route = *route, .suspect = true};
      alone.messages.push_back(std::move(message));
      suspects.push_back(std::move(alone));
      continue;
    }
    Group& group = open[*route];
    group.route = *route;
    group.messages.push_back(std::move(message));
    const std::size_t batch_max = settings.batch_max == 0 ? policy_.batch_size : settings.batch_max;
    if (group.messages.size() >= batch_max) groups_.push_back(std::exchange(group, Group{}));
  }
  for (Group& group : open) {
    if (!group.messages.empty()) groups_.push_back(std::move(group));
  }
  // Suspects go last: what they may take down is then already done.
  for (Group& group : suspects) groups_.push_back(std::move(group));
  if (reclaimed > 0) note(NoteKind::reclaimed, reclaimed);
}

// ---- settle ----

bool Worker::delivery_is_braked() const {
  return std::any_of(
      current_.messages.begin(), current_.messages.end(),
      [&](const ClaimedMessage& message) { return board_.braked(message.job_type); });
}

// Between groups, what is known is written when it is old enough, or before a message that may take
// us down; at the end, all of it.
bool Worker::settle_is_due(Instant now) const noexcept {
  return groups_.empty() || (groups_.front().suspect && !suspects_begun_) ||
         (oldest_unsettled_ && now - *oldest_unsettled_ >= policy_.settle_after);
}

std::optional<Action> Worker::next_settle(Instant now) {
  if (settlements_.empty() && isolated_.empty()) return std::nullopt;
  if (retry_settle_at_ && now < *retry_settle_at_) {
    doing_ = Doing::waiting;
    return DoWait{*retry_settle_at_, false};
  }
  retry_settle_at_.reset();
  doing_ = Doing::settling;
  // claim_no makes repeating this harmless, also after a lost answer.
  if (isolating_) return DoSettle{std::span<const Settlement>(isolated_).last(1)};
  return DoSettle{settlements_};
}

void Worker::take_settled(const Settled& settled) {
  settle_failures_ = 0;
  if (!settled.lost.empty()) note(NoteKind::lease_lost, settled.lost.size());
  if (isolating_) {
    ++settled_alone_;
    isolated_.pop_back();
  } else {
    settlements_.clear();
    oldest_unsettled_.reset();
    refused_until_.reset();
  }
  forget_settled();
}

void Worker::take_settle_failure(const Failed& failed, Instant now) {
  ++settle_failures_;
  notes_.push_back({.kind = NoteKind::settle_failed, .text = failed.what});
  const bool out_of_time = now >= lease_until_ || (drain_by_ && now >= *drain_by_);
  if (out_of_time) {
    note(NoteKind::settle_abandoned, settlements_.size() + isolated_.size() + refused_.size());
    settlements_.clear();
    isolated_.clear();
    refused_.clear();
    isolating_ = false;
    oldest_unsettled_.reset();
    refused_until_.reset();
    settle_failures_ = 0;
    forget_settled();
    return;
  }
  if (passes(failed)) {
    retry_settle_at_ = now + retry_delay(kSettleBackoff, settle_failures_, random_);
    return;
  }
  // The keeper may lengthen the leases for as long as it likes: what is refused has the present
  // lease's time, so that one row cannot hold up this worker for ever.
  if (!refused_until_) refused_until_ = lease_until_;
  if (isolating_) {
    refused_.push_back(std::move(isolated_.back()));
    isolated_.pop_back();
  } else if (settlements_.size() > 1) {
    // One row may be at fault: the others must not pay for it.
    isolating_ = true;
    isolated_ = std::exchange(settlements_, {});
    settled_alone_ = 0;
    return;
  } else {
    refused_ = std::exchange(settlements_, {});
  }
  forget_settled();
  if (isolating_ || refused_.empty()) return;
  if (now >= *refused_until_) {
    give_up_refused();
    return;
  }
  // All of them were refused alone: it is the store, not a row.
  for (Settlement& settlement : std::exchange(refused_, {})) add(std::move(settlement), now);
  keep_alive_what_is_left();
  retry_settle_at_ = now + retry_delay(kSettleBackoff, settle_failures_, random_);
}

// Their leases run out; the cap on attempts bounds the copies.
void Worker::give_up_refused() {
  for (const Settlement& settlement : refused_) {
    notes_.push_back({.kind = NoteKind::settle_refused,
                      .id = settlement.lease.id,
                      .text = std::string(to_string(settlement.kind))});
  }
  refused_.clear();
  refused_until_.reset();
  settle_failures_ = 0;
}

// Leases of what was written are not kept alive any longer.
void Worker::forget_settled() {
  if (isolating_ && !isolated_.empty()) return;
  if (isolating_) {
    isolating_ = false;
    oldest_unsettled_.reset();
    if (settled_alone_ > 0) give_up_refused();
  }
  keep_alive_what_is_left();
}

void Worker::keep_alive_what_is_left() {
  leases_.clear();
  for (const Group& group : groups_) {
    for (const ClaimedMessage& message : group.messages) leases_.push_back(message.lease);
  }
  for (const Settlement& settlement : settlements_) leases_.push_back(settlement.lease);
  for (const InFlight& call : in_flight_) leases_.push_back(call.message.lease);
}

void Worker::add(Settlement settlement, Instant now) {
  if (!oldest_unsettled_) oldest_unsettled_ = now;
  settlements_.push_back(std::move(settlement));
}

void Worker::release_group(Group&& group, Millis delay, std::string_view why, Instant now) {
  note(NoteKind::released, group.messages.size(), std::string(why));
  for (const ClaimedMessage& message : group.messages) {
    release(message, delay, {}, now);
  }
}

// Nothing of it was sent: without a code no attempt enters its history.
void Worker::release(const ClaimedMessage& message, Millis delay, std::string_view error,
                     Instant now) {
  Settlement settlement;
  settlement.lease = message.lease;
  settlement.kind = SettleKind::release;
  settlement.delay = delay;
  settlement.error = std::string(error);
  add(std::move(settlement), now);
}

void Worker::kill(const ClaimedMessage& message, DeadReason reason, KeyPolicy policy, Instant now) {
  Settlement settlement;
  settlement.lease = message.lease;
  settlement.kind = SettleKind::dead;
  settlement.reason = reason;
  settlement.key_policy = policy;
  settlement.code = std::string(to_string(reason));
  switch (reason) {
    case DeadReason::malformed:
      settlement.error = message.defect;
      break;
    case DeadReason::expired:
      settlement.error = "expires_at had passed before the message could be delivered";
      break;
    case DeadReason::poison:
      settlement.error =
          "each permitted attempt ended without a word: the relay stopped or lost its lease during "
          "it";
      break;
    default:
      PILLARBOX_ASSERT(false);
  }
  notes_.push_back({.kind = NoteKind::died,
                    .id = message.lease.id,
                    .message_id = message.message_id,
                    .attempt = message.attempts,
                    .text = std::string(to_string(reason)) + ": " + settlement.error});
  add(std::move(settlement), now);
}

void Worker::note(NoteKind kind, std::size_t count, std::string text) {
  notes_.push_back({.kind = kind, .count = count, .text = std::move(text)});
}

void Worker::note(NoteKind kind, const ClaimedMessage& message, RouteIndex route,
                  std::string text) {
  notes_.push_back({.kind = kind,
                    .route = route,
                    .id = message.lease.id,
                    .message_id = message.message_id,
                    .attempt = message.attempts,
                    .text = std::move(text)});
}

}  // namespace pillarbox::core
