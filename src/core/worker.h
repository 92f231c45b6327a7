// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/route_board.h"
#include "pillarbox/error.h"
#include "pillarbox/relay.h"

namespace pillarbox::core {

// What one worker does next. Pure: an event goes in, the action to take comes out; threads perform
// it against the world, a simulator against models. Each action is answered by exactly one event.

// ---- events ----
struct Started {};
struct Claimed {
  ClaimResult result;
  Instant began{};  // before the call: leases run at least until began + lease
};
struct Delivered {
  std::vector<Outcome> outcomes;  // one for each message of the batch, in its order
  Instant began{};
  std::vector<LateOutcome> late = {};  // of what earlier deliveries of the route left in flight
  std::size_t room = Sink::kNoBound;   // what the sink says of the next batch
  bool handle_lost = false;            // and with it what was in flight
};
struct Collected {
  struct News {  // of one route
    RouteIndex route = 0;
    std::vector<LateOutcome> late = {};
    std::size_t room = Sink::kNoBound;
    bool handle_lost = false;
  };
  std::vector<News> news = {};
  bool woken = false;  // something may be due
};
struct Settled {
  std::vector<Lease> lost;
};
struct Failed {  // the claim or the settle
  ErrorKind kind = ErrorKind::internal;
  bool connection_lost = false;
  bool in_doubt = false;
  std::string what;
};
struct Woken {
  bool by_timer = true;
};
using Event = std::variant<Started, Claimed, Delivered, Collected, Settled, Failed, Woken>;

// ---- actions ----
struct DoClaim {
  std::size_t count_max = 0;
  std::size_t bytes_max = 0;
  Millis lease{};
  std::vector<std::string> excluded_types;
  bool sweep = false;
};
struct DoDeliver {
  RouteIndex route = 0;
  std::span<const ClaimedMessage> batch;  // the worker's, unchanged until it is answered
  Millis timeout{};                       // of each call
  Instant start_before{};                 // no call starts from then on
  Instant leave_after{};                  // calls may be left in flight from then on
};
// Wait for something that was left in flight.
struct DoCollect {
  std::vector<RouteIndex> routes;
  Instant until{};
  bool idle = false;  // as in DoWait
};
struct DoSettle {
  std::span<const Settlement> settlements;  // the worker's, unchanged until it is answered
};
struct DoWait {
  Instant until{};
  bool idle = false;  // nothing is due: may be woken before. Else only the end of the wait, or a
                      // stop, ends it.
};
struct DoExit {};
using Action = std::variant<DoClaim, DoDeliver, DoCollect, DoSettle, DoWait, DoExit>;

// ---- facts for logs and metrics; the machine itself needs none of them ----
enum class NoteKind {
  dispatched,         // count
  retried,            // message, text
  died,               // message, reason, text
  released,           // count, text: throttled, unavailable, not_sent, shutdown, brake, backed_off
  reclaimed,          // count
  lease_lost,         // count: settled too late, somebody else has them
  settle_refused,     // message: the store will not record what became of it
  settle_abandoned,   // count: the leases ran out before the store answered; possible duplicates
  settle_failed,      // text: will be repeated
  claim_failed,       // text: will be repeated
  breaker_opened,     // route, text
  breaker_closed,     // route
  route_stopped,      // route, text: the sink asked for silence or refused our credentials
  unroutable,         // type in text
  duplicate_absorbed  // count
};
struct Note {
  NoteKind kind{};
  std::size_t count = 1;
  std::optional<RouteIndex> route = {};
  RowId id{};
  MessageId message_id = {};
  std::int32_t attempt = 0;
  std::string text = {};
};

struct WorkerPolicy {
  std::size_t batch_size = 500;
  std::size_t batch_bytes = 8 * 1024 * 1024;
  Millis lease{60'000};
  Millis poll_interval{1'000};
  Millis settle_after{
      200};  // outcomes are not kept back longer than this while other groups are delivered
  Millis batch_time{1'000};  // within which the calls of one delivery start
  Millis linger{50};         // for so long a delivery waits for its last calls to end
  Millis unroutable_delay{60'000};
  Millis stopped_route_delay{300'000};
};

class Worker {
 public:
  // `board` and `random` are shared with other workers and outlive this one.
  Worker(WorkerPolicy policy, RouteBoard& board, Random& random);

  [[nodiscard]] Action on(const Event& event, Instant now) { return on(Event(event), now); }
  [[nodiscard]] Action on(Event&& event, Instant now);

  // No new claims; what runs may run until `deadline`. May be called again; the earliest deadline
  // holds.
  void drain_by(Instant deadline);

  // The keeper lengthened our leases to at least `until`.
  void renewed(Instant until) noexcept {
    lease_until_ = std::max(lease_until_, until);
    in_flight_until_ = std::max(in_flight_until_, until);
  }

  // The brake covers a message of the delivery that runs: what it has not sent yet must not be.
  [[nodiscard]] bool delivery_is_braked() const;

  // Leases to keep alive now.
  [[nodiscard]] const std::vector<Lease>& leases() const noexcept { return leases_; }
  // The first of them to run out.
  [[nodiscard]] Instant lease_until() const noexcept {
    return in_flight_.empty() ? lease_until_ : std::min(lease_until_, in_flight_until_);
  }

  // What happened since the last call.
  [[nodiscard]] std::vector<Note> take_notes() { return std::exchange(notes_, {}); }

 private:
  struct Group {
    RouteIndex route = 0;
    std::vector<ClaimedMessage> messages = {};
    bool suspect = false;  // its message may have killed an earlier holder
    RouteBoard::Permit::Kind permit = RouteBoard::Permit::Kind::go;
  };
  struct InFlight {
    ClaimedMessage message;
    RouteIndex route = 0;
    Instant began{};
    Instant give_up_at{};  // whatever its sink is waiting for
  };
  struct Heard {  // what became of a message; both outlive it
    const ClaimedMessage* message;
    const Outcome* outcome;
    Instant began{};
  };
  enum class Doing { nothing, claiming, delivering, settling, waiting };

  Action next(Instant now);
  void take_claimed(Claimed&& claimed, Instant now);
  void take_delivered(Delivered&& delivered, Instant now);
  void take_collected(const Collected& collected, Instant now);
  void take_late(RouteIndex route, const std::vector<LateOutcome>& late, bool handle_lost,
                 Instant now);
  void give_up_in_flight(Instant now);
  void hear(RouteIndex route, const std::vector<Heard>& heard, Instant now);
  void leave_unless_in_flight(RouteIndex route);
  [[nodiscard]] bool has_in_flight(RouteIndex route) const;
  [[nodiscard]] std::vector<RouteIndex> routes_in_flight() const;
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] Action wait(Instant until, bool idle);
  void take_settled(const Settled& settled);
  void take_settle_failure(const Failed& failed, Instant now);
  std::optional<Action> start_next_group(Instant now);
  std::optional<Action> next_settle(Instant now);
  [[nodiscard]] bool settle_is_due(Instant now) const noexcept;
  void give_up_refused();
  Action next_claim(Instant now);
  [[nodiscard]] std::size_t claim_bound() const;
  void release_group(Group&& group, Millis delay, std::string_view why, Instant now);
  void release(const ClaimedMessage& message, Millis delay, std::string_view error, Instant now);
  void kill(const ClaimedMessage& message, DeadReason reason, KeyPolicy policy, Instant now);
  void add(Settlement settlement, Instant now);
  void forget_settled();
  void keep_alive_what_is_left();
  void note(NoteKind kind, std::size_t count, std::string text = {});
  void note(NoteKind kind, const ClaimedMessage& message, RouteIndex route, std::string text);
  [[nodiscard]] bool lease_has_margin(Instant now) const noexcept;
  [[nodiscard]] bool draining() const noexcept { return drain_by_.has_value(); }

  WorkerPolicy policy_;
  RouteBoard& board_;
  Random& random_;

  Doing doing_ = Doing::nothing;
  std::optional<Instant> drain_by_;
  std::deque<Group> groups_;
  Group current_;
  std::vector<InFlight> in_flight_;
  std::vector<std::size_t> rooms_;       // of each route's sink
  std::vector<std::size_t> last_claim_;  // how many messages of each route it brought
  std::vector<Settlement> settlements_;  // to be written
  std::vector<Settlement> isolated_;     // one by one, after the batch was refused
  std::vector<Settlement> refused_;      // of those, what was refused alone
  std::size_t settled_alone_ = 0;
  bool isolating_ = false;
  std::optional<Instant> refused_until_;  // the store refuses what we write: no longer than this
  std::optional<Instant> oldest_unsettled_;
  std::vector<Lease> leases_;
  Instant lease_until_{};      // of what was claimed last
  Instant in_flight_until_{};  // of what is in flight, also from earlier claims

  bool suspects_begun_ = false;  // of this batch
  bool idle_ = false;            // the last claim brought nothing
  Instant idle_until_{};         // then somebody looks without having been woken
  bool was_idle_ = false;        // until the claim that ends the idleness
  bool sweep_next_ = true;       // the first claim looks everywhere
  bool sweeping_ = false;
  Instant next_sweep_{};
  std::int32_t claim_failures_ = 0;
  std::int32_t settle_failures_ = 0;
  std::optional<Instant> retry_settle_at_;
  std::optional<Instant> retry_claim_at_;
  std::vector<Note> notes_;
};

}  // namespace pillarbox::core
