// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/breaker.h"
#include "core/random.h"
#include "pillarbox/relay.h"

namespace pillarbox::core {

using RouteIndex = std::size_t;

// What the workers of one relay and outbox know together: which type goes where, which routes are
// backed off, which brakes are on. Pure state; the relay guards it with one mutex.
class RouteBoard {
 public:
  // More types than these are not remembered: they are released for a while instead of being left
  // alone.
  static constexpr std::size_t kTypesMax = 1'000;

  RouteBoard(std::vector<RouteSettings> routes, RetryPolicy retry, BreakerPolicy breaker,
             std::size_t workers);

  [[nodiscard]] std::size_t size() const noexcept { return routes_.size(); }
  [[nodiscard]] const RouteSettings& settings(RouteIndex route) const {
    return routes_[route].settings;
  }
  [[nodiscard]] const RetryPolicy& retry(RouteIndex route) const;

  // The first route that matches, remembered; nullopt: none does.
  [[nodiscard]] std::optional<RouteIndex> route_of(const std::string& job_type);

  // Types seen so far that must not be claimed now: without a route, or whose route is backed off
  // or full; a worker with calls in flight on a route (`ours`) is one of those that fill it.
  [[nodiscard]] std::vector<std::string> excluded_types(Instant now,
                                                        std::span<const RouteIndex> ours = {});
  [[nodiscard]] std::vector<std::string> unroutable_types() const;
  [[nodiscard]] bool remembers(std::string_view job_type) const {
    return types_.find(job_type) != types_.end();
  }

  // True once after something that was left alone may be claimed again: look everywhere.
  [[nodiscard]] bool take_sweep_request(Instant now);
  [[nodiscard]] bool wants_sweep(Instant now) const;

  void set_brakes(std::vector<std::string> scopes);
  [[nodiscard]] bool braked(std::string_view job_type) const;

  // May a delivery to this route begin? go: yes, end it with left(). probe: yes, with one message
  // only. blocked: not before `until`.
  struct Permit {
    enum class Kind { go, probe, blocked } kind = Kind::go;
    Instant until{};
  };
  [[nodiscard]] Permit begin(RouteIndex route, Instant now);
  // The same for a worker that has calls of this route in flight: it is the same delivery still.
  [[nodiscard]] Permit go_on(RouteIndex route, Instant now);
  void left(RouteIndex route);

  enum class CallEnd { answered, all_transient, unavailable };
  enum class Change { none, opened, closed };
  // What calls came to that began at `since`. That they failed is no news where the sink has
  // answered others meanwhile.
  Change heard(RouteIndex route, CallEnd end, Instant since, Instant now, Random& random);
  void probe_given_up(RouteIndex route) { routes_[route].breaker.probe_given_up(); }
  void silence(RouteIndex route, Instant until) { routes_[route].breaker.silence(until); }

  [[nodiscard]] Breaker::State breaker_state(RouteIndex route, Instant now) const {
    return routes_[route].breaker.state(now);
  }
  [[nodiscard]] Instant blocked_until(RouteIndex route) const {
    return routes_[route].breaker.open_until();
  }

 private:
  struct Route {
    RouteSettings settings;
    Breaker breaker;
    std::size_t in_flight = 0;  // deliveries
    std::optional<Instant> last_answered = {};
    bool was_blocked = false;
  };
  [[nodiscard]] bool is_blocked(const Route& route, Instant now) const;
  [[nodiscard]] std::size_t concurrency(const Route& route) const;

  std::vector<Route> routes_;
  RetryPolicy retry_;
  std::size_t workers_;
  std::map<std::string, std::optional<RouteIndex>, std::less<>> types_;
  std::vector<std::string> brakes_;
  bool sweep_wanted_ = false;
};

}  // namespace pillarbox::core
