// SPDX-License-Identifier: Apache-2.0
#include "core/route_board.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/type_pattern.h"

namespace pillarbox::core {

RouteBoard::RouteBoard(std::vector<RouteSettings> routes, RetryPolicy retry, BreakerPolicy breaker,
                       std::size_t workers)
    : retry_(retry), workers_(workers) {
  for (RouteSettings& settings : routes)
    routes_.push_back(Route{std::move(settings), Breaker(breaker), 0, {}, false});
}

const RetryPolicy& RouteBoard::retry(RouteIndex route) const {
  const auto& own = routes_[route].settings.retry;
  return own ? *own : retry_;
}

std::optional<RouteIndex> RouteBoard::route_of(const std::string& job_type) {
  const auto known = types_.find(job_type);
  if (known != types_.end()) return known->second;
  std::optional<RouteIndex> found;
  for (RouteIndex i = 0; i < routes_.size() && !found; ++i) {
    if (matches_type(routes_[i].settings.type, job_type)) found = i;
  }
  if (types_.size() < kTypesMax) types_.emplace(job_type, found);
  return found;
}

std::size_t RouteBoard::concurrency(const Route& route) const {
  return route.settings.concurrency == 0 ? workers_ : route.settings.concurrency;
}

bool RouteBoard::is_blocked(const Route& route, Instant now) const {
  return route.breaker.blocks(now) || route.in_flight >= concurrency(route);
}

std::vector<std::string> RouteBoard::excluded_types(Instant now, std::span<const RouteIndex> ours) {
  std::vector<std::string> excluded;
  for (Route& route : routes_) {
    const bool blocked = is_blocked(route, now);
    if (route.was_blocked && !blocked) sweep_wanted_ = true;
    route.was_blocked = blocked;
  }
  const auto may_go_on = [&](RouteIndex route) {
    return std::find(ours.begin(), ours.end(), route) != ours.end() &&
           !routes_[route].breaker.blocks(now);
  };
  for (const auto& [type, route] : types_) {
    if (!route || (routes_[*route].was_blocked && !may_go_on(*route))) excluded.push_back(type);
  }
  return excluded;
}

std::vector<std::string> RouteBoard::unroutable_types() const {
  std::vector<std::string> types;
  for (const auto& [type, route] : types_) {
    if (!route) types.push_back(type);
  }
  return types;
}

bool RouteBoard::wants_sweep(Instant now) const {
  return sweep_wanted_ || std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) {
           return route.was_blocked && !is_blocked(route, now);
         });
}

bool RouteBoard::take_sweep_request(Instant now) {
  const bool wanted = wants_sweep(now);
  sweep_wanted_ = false;
  return wanted;
}

void RouteBoard::set_brakes(std::vector<std::string> scopes) {
  std::sort(scopes.begin(), scopes.end());
  // A brake that is gone leaves messages behind the point that claims have passed.
  if (!std::includes(scopes.begin(), scopes.end(), brakes_.begin(), brakes_.end()))
    sweep_wanted_ = true;
  brakes_ = std::move(scopes);
}

bool RouteBoard::braked(std::string_view job_type) const {
  return std::any_of(brakes_.begin(), brakes_.end(),
                     [&](const std::string& scope) { return brake_covers(scope, job_type); });
}

RouteBoard::Permit RouteBoard::begin(RouteIndex index, Instant now) {
  Route& route = routes_[index];
  if (!route.breaker.blocks(now) && route.in_flight >= concurrency(route))
    return {Permit::Kind::blocked, now + Millis{50}};
  const Permit permit = go_on(index, now);
  if (permit.kind != Permit::Kind::blocked) ++route.in_flight;
  return permit;
}

RouteBoard::Permit RouteBoard::go_on(RouteIndex index, Instant now) {
  Route& route = routes_[index];
  if (route.breaker.blocks(now)) {
    // A probe on the way may take as long as its time-out; look again soon.
    return {Permit::Kind::blocked, std::max(route.breaker.open_until(), now + Millis{100})};
  }
  if (route.breaker.state(now) == Breaker::State::half_open) {
    route.breaker.probe_started();
    return {Permit::Kind::probe, now};
  }
  return {Permit::Kind::go, now};
}

void RouteBoard::left(RouteIndex index) {
  PILLARBOX_ASSERT(routes_[index].in_flight > 0);
  --routes_[index].in_flight;
}

RouteBoard::Change RouteBoard::heard(RouteIndex index, CallEnd end, Instant since, Instant now,
                                     Random& random) {
  Route& route = routes_[index];
  switch (end) {
    case CallEnd::answered:
      route.last_answered = now;
      return route.breaker.answered() ? Change::closed : Change::none;
    case CallEnd::all_transient:
      if (route.last_answered && *route.last_answered > since) return Change::none;
      return route.breaker.failed(now, random) ? Change::opened : Change::none;
    case CallEnd::unavailable:
      return route.breaker.unavailable(now, random) ? Change::opened : Change::none;
  }
  return Change::none;
}

}  // namespace pillarbox::core
