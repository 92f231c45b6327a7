// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "core/decide.h"
#include "core/retry.h"

namespace pillarbox::core {
namespace {

constexpr RetryPolicy kClaimBackoff{.max_attempts = 0, .base = Millis{100}, .cap = Millis{10'000}};
constexpr RetryPolicy kSettleBackoff{.max_attempts = 0, .base = Millis{20}, .cap = Millis{1'000}};
constexpr int kSweepShare = 20;  // a sweep may take one twentieth of the time

Millis until(Instant then, Instant now) {
  return std::max(Millis{0}, std::chrono::duration_cast<Millis>(then - now));
}

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
  const Instant leased_until = claimed.began + policy_.lease;
  lease_until_ = in_flight_.empty() ? leased_until : std::min(lease_until_, leased_until);
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

// ---- deliver ----

bool Worker::lease_has_margin(Instant now) const noexcept {
  return now + policy_.lease / 10 < lease_until_;
}

std::optional<Action> Worker::start_next_group(Instant now) {
  while (!groups_.empty()) {
    // A suspect goes when nothing else can be taken down with it.
    if (groups_.front().suspect && !in_flight_.empty()) return wait(Instant::max(), false);
    Group group = std::move(groups_.front());
    groups_.pop_front();
    if (!lease_has_margin(now)) {
      // Perhaps no longer ours: not a byte of it is sent. If it still is, it is given back.
      release_group(std::move(group), Millis{0}, "lease_too_short", now);
      continue;
    }
    const auto braked = std::stable_partition(
        group.messages.begin(), group.messages.end(),
        [&](const ClaimedMessage& message) { return !board_.braked(message.job_type); });
    if (braked != group.messages.end()) {
      note(NoteKind::released, static_cast<std::size_t>(group.messages.end() - braked), "brake");
      for (auto it = braked; it != group.messages.end(); ++it) release(*it, Millis{0}, {}, now);
      group.messages.erase(braked, group.messages.end());
      if (group.messages.empty()) continue;
    }
    const RouteBoard::Permit permit = has_in_flight(group.route) ? board_.go_on(group.route, now)
                                                                 : board_.begin(group.route, now);
    if (permit.kind == RouteBoard::Permit::Kind::blocked) {
      const Millis wait = until(permit.until, now);
      release_group(std::move(group), wait + jittered(Millis{0}, wait / 4, random_), "backed_off",
                    now);
      continue;
    }
    if (permit.kind == RouteBoard::Permit::Kind::probe && group.messages.size() > 1) {
      Group rest{.route = group.route};
      rest.messages.assign(std::make_move_iterator(group.messages.begin() + 1),
                           std::make_move_iterator(group.messages.end()));
      group.messages.resize(1);
      groups_.push_front(std::move(rest));
    }
    if (group.suspect) suspects_begun_ = true;
    group.permit = permit.kind;
    current_ = std::move(group);
    doing_ = Doing::delivering;
    return DoDeliver{current_.route, current_.messages, board_.settings(current_.route).timeout,
                     now + policy_.batch_time,
                     current_.suspect ? Instant::max() : now + policy_.linger};
  }
  return std::nullopt;
}

void Worker::take_delivered(Delivered&& delivered, Instant now) {
  Group group = std::exchange(current_, Group{});
  PILLARBOX_ASSERT(delivered.outcomes.size() == group.messages.size());
  rooms_[group.route] = delivered.room;
  std::vector<Heard> heard;
  heard.reserve(group.messages.size());
  bool all_unsent = true;
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    const Outcome& outcome = delivered.outcomes[i];
    if (outcome.kind != OutcomeKind::not_sent) all_unsent = false;
    if (outcome.kind != OutcomeKind::in_flight)
      heard.push_back({&group.messages[i], &outcome, delivered.began});
  }
  hear(group.route, heard, now);
  const Instant give_up_at =
      delivered.began + policy_.batch_time + board_.settings(group.route).timeout + policy_.lease;
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    if (delivered.outcomes[i].kind != OutcomeKind::in_flight) continue;
    in_flight_.push_back({std::move(group.messages[i]), group.route, delivered.began, give_up_at});
  }
  // After that: some of this very batch may have ended meanwhile.
  take_late(group.route, delivered.late, delivered.handle_lost, now);
  if (all_unsent && group.permit == RouteBoard::Permit::Kind::probe)
    board_.probe_given_up(group.route);
  leave_unless_in_flight(group.route);
}

void Worker::take_collected(const Collected& collected, Instant now) {
  if (idle_ && (collected.woken || now >= idle_until_)) {
    if (!collected.woken) sweep_next_ = true;
    was_idle_ = true;
    idle_ = false;
  }
  for (const Collected::News& news : collected.news) {
    rooms_[news.route] = news.room;
    const bool had_some = has_in_flight(news.route);
    take_late(news.route, news.late, news.handle_lost, now);
    if (had_some) leave_unless_in_flight(news.route);
  }
}

void Worker::leave_unless_in_flight(RouteIndex route) {
  if (!has_in_flight(route)) board_.left(route);
}

void Worker::take_late(RouteIndex route, const std::vector<LateOutcome>& late, bool handle_lost,
                       Instant now) {
  const Outcome lost = Outcome::transient(
      "sink_defect", "its call was lost with the sink's handle, see sink_defect");
  std::vector<InFlight> ended;
  std::vector<const Outcome*> outcomes;
  const auto take = [&](std::vector<InFlight>::iterator call, const Outcome& outcome) {
    ended.push_back(std::move(*call));
    outcomes.push_back(&outcome);
    in_flight_.erase(call);
  };
  for (const LateOutcome& one : late) {
    const auto call = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const InFlight& c) {
      return c.route == route && c.message.lease == one.lease;
    });
    // A stranger's sink may tell twice; the first word was settled.
    if (call != in_flight_.end() && one.outcome.kind != OutcomeKind::in_flight)
      take(call, one.outcome);
  }
  while (handle_lost && has_in_flight(route)) {
    take(std::find_if(in_flight_.begin(), in_flight_.end(),
                      [&](const InFlight& c) { return c.route == route; }),
         lost);
  }
  std::vector<Heard> heard;
  heard.reserve(ended.size());
  for (std::size_t i = 0; i < ended.size(); ++i)
    heard.push_back({&ended[i].message, outcomes[i], ended[i].began});
  hear(route, heard, now);
}

// Past the drain, or past any time in which its sink had to tell: perhaps it was taken, perhaps
// not; the repeat carries the same id.
void Worker::give_up_in_flight(Instant now) {
  const bool drained = draining() && now >= *drain_by_;
  const Outcome outcome =
      drained ? Outcome::transient("shutdown", "the relay was stopped before the sink had answered")
              : Outcome::transient("no_answer", "the sink never told what became of it");
  std::vector<InFlight> calls;
  const auto given_up = std::stable_partition(
      in_flight_.begin(), in_flight_.end(),
      [&](const InFlight& call) { return !drained && now < call.give_up_at; });
  std::move(given_up, in_flight_.end(), std::back_inserter(calls));
  in_flight_.erase(given_up, in_flight_.end());
  for (RouteIndex route = 0; !calls.empty() && route < board_.size(); ++route) {
    std::vector<Heard> heard;
    for (const InFlight& call : calls) {
      if (call.route == route) heard.push_back({&call.message, &outcome, call.began});
    }
    if (heard.empty()) continue;
    hear(route, heard, now);
    leave_unless_in_flight(route);
  }
}

void Worker::hear(RouteIndex route, const std::vector<Heard>& heard, Instant now) {
  if (heard.empty()) return;
  const RouteSettings& settings = board_.settings(route);
  const RetryPolicy& retry = board_.retry(route);

  std::size_t transient = 0;
  std::size_t unavailable = 0;
  std::size_t not_sent = 0;
  Millis silence{0};
  Instant since{};
  const Outcome* stopped = nullptr;
  const Outcome* bad = nullptr;
  for (const Heard& one : heard) {
    const Outcome& outcome = *one.outcome;
    if (outcome.kind == OutcomeKind::not_sent) {
      ++not_sent;
      continue;
    }
    since = std::max(since, one.began);
    if (outcome.kind == OutcomeKind::transient) ++transient;
    if (outcome.kind == OutcomeKind::unavailable) ++unavailable;
    if (outcome.kind == OutcomeKind::throttled)
      silence = std::max(silence, throttle_delay(outcome, retry));
    if (outcome.stops_route) stopped = &outcome;
    if (outcome.kind != OutcomeKind::delivered) bad = &outcome;
  }
  const std::size_t sent = heard.size() - not_sent;
  const RouteBoard::CallEnd end = unavailable == sent ? RouteBoard::CallEnd::unavailable
                                  : transient + unavailable == sent
                                      ? RouteBoard::CallEnd::all_transient
                                      : RouteBoard::CallEnd::answered;
  const RouteBoard::Change change =
      sent == 0 ? RouteBoard::Change::none : board_.heard(route, end, since, now, random_);
  if (change == RouteBoard::Change::opened) {
    notes_.push_back({.kind = NoteKind::breaker_opened, .route = route, .text = bad->error});
  } else if (change == RouteBoard::Change::closed && silence == Millis{0} && stopped == nullptr) {
    notes_.push_back({.kind = NoteKind::breaker_closed, .route = route});
  }
  if (stopped != nullptr) {
    silence = std::max(silence, policy_.stopped_route_delay);
    notes_.push_back({.kind = NoteKind::route_stopped, .route = route, .text = stopped->error});
  }
  if (silence > Millis{0}) board_.silence(route, now + silence);

  const Millis blocked = until(board_.blocked_until(route), now);
  const Millis back_off = std::max(retry.base, blocked);
  std::size_t dispatched = 0;
  std::size_t absorbed = 0;
  std::size_t released_unavailable = 0;
  std::size_t released_throttled = 0;
  for (const Heard& one : heard) {
    const ClaimedMessage& message = *one.message;
    const Outcome& outcome = *one.outcome;
    Settlement settlement =
        settlement_for(outcome, message, retry, settings.on_dead, back_off, random_);
    settlement.took = until(now, one.began);
    if (outcome.kind == OutcomeKind::not_sent) settlement.delay = blocked;
    if (settlement.kind == SettleKind::release)
      settlement.delay += jittered(Millis{0}, settlement.delay / 4, random_);
    switch (settlement.kind) {
      case SettleKind::dispatched:
        ++dispatched;
        break;
      case SettleKind::retry:
        note(NoteKind::retried, message, route, outcome.error);
        break;
      case SettleKind::dead:
        note(NoteKind::died, message, route,
             std::string(to_string(settlement.reason)) + ": " + outcome.error);
        break;
      case SettleKind::release:
        if (outcome.kind == OutcomeKind::throttled) ++released_throttled;
        if (outcome.kind == OutcomeKind::unavailable) ++released_unavailable;
        break;
    }
    if (outcome.duplicate_absorbed) ++absorbed;
    add(std::move(settlement), now);
  }
  const auto told = [&](NoteKind kind, std::size_t count, std::string_view text) {
    if (count > 0) {
      notes_.push_back({.kind = kind, .count = count, .route = route, .text = std::string(text)});
    }
  };
  told(NoteKind::dispatched, dispatched, "");
  told(NoteKind::duplicate_absorbed, absorbed, "");
  told(NoteKind::released, released_throttled, "throttled");
  told(NoteKind::released, released_unavailable, "unavailable");
  told(NoteKind::released, not_sent, "not_sent");
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
