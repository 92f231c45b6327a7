// SPDX-License-Identifier: Apache-2.0
// The worker's part between a claim and a settle: what is sent, what is in flight, what became of
// it.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "core/decide.h"
#include "core/random.h"
#include "core/retry.h"
#include "core/worker.h"

namespace pillarbox::core {
namespace {

Millis until(Instant then, Instant now) {
  return std::max(Millis{0}, std::chrono::duration_cast<Millis>(then - now));
}

}  // namespace

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
    in_flight_until_ = lease_until();
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

}  // namespace pillarbox::core
