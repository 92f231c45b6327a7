// SPDX-License-Identifier: Apache-2.0
// Workers of two relays walk at random over a model of a store that loses answers, and a sink that
// has all kinds of trouble. What must hold at every step is checked at every step; then the trouble
// ends and everything must end.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/worker.h"

namespace pillarbox::core {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMessages = 120;
constexpr std::int32_t kAttempts = 4;
constexpr Millis kLease{20'000};

struct Row {
  ClaimedMessage message;
  Status status = Status::pending;
  std::string owner;  // a relay: its workers share the name
  Instant available_at{};
  Instant locked_until{};
  DeadReason reason{};
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    for (std::int64_t id = 1; id <= kMessages; ++id) {
      Row row;
      row.message.lease = {RowId{id}, 0};
      row.message.job_type = chance(20) ? "slow.v1" : chance(5) ? "lost.v1" : "fast.v1";
      rows_.emplace(id, std::move(row));
    }
    for (const char* relay : {"a", "b"}) {
      boards_.push_back(std::make_unique<RouteBoard>(routes(), retry(), BreakerPolicy{}, 2));
      for (int i = 0; i < 2; ++i) hire(relay, *boards_.back());
    }
  }

  void walk() {
    for (int step = 0; step < 3'000; ++step) {
      if (step % 500 == 499) brake(step % 1'000 == 499);
      this->step();
    }
    trouble_ = false;
    brake(false);
    for (int step = 0; step < 30'000 && !all_ended(); ++step) this->step();
    ASSERT_TRUE(all_ended());
    for (const auto& [id, row] : rows_) {
      if (row.message.job_type == "lost.v1") continue;
      if (row.status == Status::dispatched) {
        ASSERT_TRUE(delivered_.contains(id)) << id;
      } else {
        ASSERT_EQ(row.status, Status::dead) << id;
        if (row.reason == DeadReason::attempts) {
          ASSERT_GE(row.message.attempts, kAttempts);
        }
        if (row.reason == DeadReason::poison) {
          ASSERT_GT(row.message.attempts, kAttempts);
        }
      }
    }
    drain();
  }

 private:
  struct Person {
    std::string relay;
    RouteBoard* board = nullptr;
    std::unique_ptr<Worker> worker;
    Action action = DoExit{};
    Instant began{};
    Instant due{};
    std::optional<Event> answer;  // the effect has happened, the answer is on its way
    bool gone = false;
    std::map<RouteIndex, std::vector<LateOutcome>> in_flight;  // what will come of them
  };

  static std::vector<RouteSettings> routes() {
    RouteSettings slow{.name = "slow", .type = "slow.*", .sink = "s"};
    slow.batch_max = 3;
    slow.concurrency = 1;
    slow.timeout = 8s;
    return {slow, {.name = "fast", .type = "fast.*", .sink = "f", .timeout = 2s}};
  }
  static RetryPolicy retry() { return {.max_attempts = kAttempts, .base = 100ms, .cap = 2s}; }

  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  Millis up_to(std::uint64_t ms) { return Millis(static_cast<std::int64_t>(random_.below(ms))); }

  void hire(const std::string& relay, RouteBoard& board) {
    Person person{.relay = relay, .board = &board};
    person.worker = std::make_unique<Worker>(
        WorkerPolicy{.batch_size = 8, .lease = kLease, .poll_interval = 300ms}, board, random_);
    people_.push_back(std::move(person));
    take(people_.back(), Started{});
  }

  void take(Person& person, Event&& event) {
    person.action = person.worker->on(std::move(event), now_);
    person.began = now_;
    person.answer.reset();
    person.gone = std::holds_alternative<DoExit>(person.action);
    const auto* wait = std::get_if<DoWait>(&person.action);
    const auto* collect = std::get_if<DoCollect>(&person.action);
    person.due = wait != nullptr ? wait->until : now_ + up_to(50);
    if (collect != nullptr) person.due = std::min(collect->until, now_ + up_to(500));
    if (const auto* deliver = std::get_if<DoDeliver>(&person.action))
      check_delivery(person, *deliver);
  }

  // A delivery never begins without the lease, nor in a brake that was seen.
  void check_delivery(const Person& person, const DoDeliver& deliver) {
    ASSERT_FALSE(deliver.batch.empty());
    for (const ClaimedMessage& message : deliver.batch) {
      const Row& row = rows_.at(to_int(message.lease.id));
      ASSERT_TRUE(holds(person, row, message.lease.claim_no)) << to_int(message.lease.id);
      ASSERT_GT(row.locked_until, now_);
      ASSERT_FALSE(person.board->braked(message.job_type));
      ASSERT_LE(message.attempts, kAttempts);
      if (message.reclaimed) {
        ASSERT_EQ(deliver.batch.size(), 1U);
      }
    }
  }

  void step() {
    Person* next = nullptr;
    for (Person& person : people_) {
      if (!person.gone && (next == nullptr || person.due < next->due)) next = &person;
    }
    ASSERT_NE(next, nullptr);
    now_ = std::max(now_, next->due);
    Person& person = *next;
    if (person.answer) {
      take(person, std::move(*person.answer));
      return;
    }
    person.answer = effect(person);
    person.due = now_ + (std::holds_alternative<DoWait>(person.action) ? 0ms : up_to(50));
    // A worker that falls asleep for longer than a lease.
    if (trouble_ && chance(1)) person.due += kLease + up_to(5'000);
  }

  Event effect(Person& person) {
    if (const auto* claim = std::get_if<DoClaim>(&person.action)) {
      return fallible([&]() -> Event { return this->claim(person, *claim); });
    }
    if (const auto* settle = std::get_if<DoSettle>(&person.action)) {
      return fallible(
          [&]() -> Event { return Settled{this->settle(person, settle->settlements)}; });
    }
    if (const auto* deliver = std::get_if<DoDeliver>(&person.action)) return sink(person, *deliver);
    if (const auto* collect = std::get_if<DoCollect>(&person.action)) {
      Collected collected;
      for (const RouteIndex route : collect->routes)
        collected.news.push_back({route, late(person, route), room()});
      collected.woken = chance(10);
      return collected;
    }
    return Woken{.by_timer = true};
  }

  [[nodiscard]] std::size_t room() {
    return chance(50) ? static_cast<std::size_t>(random_.below(6)) : Sink::kNoBound;
  }

  // Some of what is in flight has ended.
  std::vector<LateOutcome> late(Person& person, RouteIndex route) {
    std::vector<LateOutcome> ended;
    auto& calls = person.in_flight[route];
    for (auto it = calls.begin(); it != calls.end();) {
      if (chance(50)) {
        ++it;
        continue;
      }
      if (it->outcome.kind == OutcomeKind::delivered) delivered_.insert(to_int(it->lease.id));
      ended.push_back(std::move(*it));
      it = calls.erase(it);
    }
    return ended;
  }

  // The store's transaction: done, not done, or done and not heard of.
  template <class Transaction>
  Event fallible(const Transaction& transaction) {
    if (trouble_ && chance(8))
      return Failed{.kind = ErrorKind::unreachable, .connection_lost = true, .what = "not done"};
    Event answer = transaction();
    if (trouble_ && chance(8)) {
      return Failed{.kind = ErrorKind::timeout,
                    .connection_lost = true,
                    .in_doubt = true,
                    .what = "perhaps done"};
    }
    return answer;
  }

  static bool holds(const Person& person, const Row& row, std::int64_t claim_no) {
    return row.status == Status::claimed && row.owner == person.relay &&
           row.message.lease.claim_no == claim_no;
  }

  Claimed claim(const Person& person, const DoClaim& claim) {
    Claimed claimed;
    claimed.began = person.began;
    for (auto& [id, row] : rows_) {
      if (claimed.result.messages.size() == claim.count_max) {
        claimed.result.more = true;
        break;
      }
      const bool lost = row.status == Status::claimed && row.locked_until <= now_;
      if (!lost && (row.status != Status::pending || row.available_at > now_)) continue;
      if (braked_ || std::count(claim.excluded_types.begin(), claim.excluded_types.end(),
                                row.message.job_type) > 0)
        continue;
      row.status = Status::claimed;
      row.owner = person.relay;
      row.locked_until = now_ + claim.lease;
      ++row.message.lease.claim_no;
      ++row.message.attempts;
      row.message.reclaimed = lost;
      claimed.result.messages.push_back(row.message);
    }
    return claimed;
  }

  std::vector<Lease> settle(const Person& person, std::span<const Settlement> settlements) {
    std::vector<Lease> lost;
    std::set<Lease> seen;
    for (const Settlement& settlement : settlements) {
      EXPECT_TRUE(seen.insert(settlement.lease).second) << "twice in one settle";
      Row& row = rows_.at(to_int(settlement.lease.id));
      if (!holds(person, row, settlement.lease.claim_no)) {
        lost.push_back(settlement.lease);
        continue;
      }
      row.available_at = now_ + settlement.delay;
      switch (settlement.kind) {
        case SettleKind::dispatched:
          EXPECT_TRUE(delivered_.contains(to_int(settlement.lease.id)))
              << "marked before the sink acknowledged";
          row.status = Status::dispatched;
          break;
        case SettleKind::retry:
          EXPECT_LT(row.message.attempts, kAttempts);
          row.status = Status::pending;
          break;
        case SettleKind::dead:
          row.status = Status::dead;
          row.reason = settlement.reason;
          break;
        case SettleKind::release:
          row.status = Status::pending;
          --row.message.attempts;
          break;
      }
    }
    return lost;
  }

  Delivered sink(Person& person, const DoDeliver& deliver) {
    Delivered end;
    end.began = person.began;
    end.room = room();
    const bool down = trouble_ && chance(10);
    for (const ClaimedMessage& message : deliver.batch) {
      Outcome outcome = Outcome::delivered();
      if (down) {
        outcome = Outcome::unavailable("down", "nobody there");
      } else if (trouble_ && chance(10)) {
        outcome = Outcome::transient("busy", "later");
      } else if (trouble_ && chance(2)) {
        outcome = Outcome::permanent("bad", "never");
      } else if (trouble_ && chance(1)) {
        outcome = Outcome::throttled("slow", "slower", up_to(3'000));
      } else if (trouble_ && chance(5)) {
        outcome = Outcome::not_sent("no time");
      }
      const bool may_leave = deliver.leave_after < Instant::max();
      if (may_leave && outcome.kind != OutcomeKind::not_sent && chance(20)) {
        person.in_flight[deliver.route].push_back({message.lease, std::move(outcome)});
        outcome = Outcome::in_flight();
      }
      if (outcome.kind == OutcomeKind::delivered) delivered_.insert(to_int(message.lease.id));
      end.outcomes.push_back(std::move(outcome));
    }
    end.late = late(person, deliver.route);
    if (trouble_ && chance(2)) {
      end.late.clear();
      end.handle_lost = true;
      person.in_flight[deliver.route].clear();
      for (Outcome& outcome : end.outcomes) {
        if (outcome.kind == OutcomeKind::in_flight) outcome = Outcome::transient("lost", "lost");
      }
    }
    return end;
  }

  void brake(bool on) {
    braked_ = on;
    for (const auto& board : boards_)
      board->set_brakes(on ? std::vector<std::string>{"all"} : std::vector<std::string>{});
  }

  [[nodiscard]] bool all_ended() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const auto& entry) {
      const Row& row = entry.second;  // without a route: left alone
      return row.status == Status::dispatched || row.status == Status::dead ||
             row.message.job_type == "lost.v1";
    });
  }

  // After a stop nothing is left under a lease.
  void drain() {
    for (auto& [id, row] : rows_) {
      if (row.status == Status::dispatched) row.status = Status::pending;
    }
    for (int step = 0; step < 20; ++step) this->step();
    for (Person& person : people_) person.worker->drain_by(now_ + 30s);
    for (int step = 0; step < 10'000; ++step) {
      if (std::all_of(people_.begin(), people_.end(), [](const Person& p) { return p.gone; }))
        break;
      this->step();
    }
    for (const Person& person : people_) {
      ASSERT_TRUE(person.gone);
      ASSERT_TRUE(person.worker->leases().empty());
    }
    // A claim in doubt of what is left alone since then stays as it was: nobody claims it again.
    for (const auto& [id, row] : rows_) {
      ASSERT_TRUE(row.status != Status::claimed || row.message.job_type == "lost.v1") << id;
    }
  }

  SeededRandom random_;
  Instant now_{1h};
  bool trouble_ = true;
  bool braked_ = false;
  std::map<std::int64_t, Row> rows_;
  std::set<std::int64_t> delivered_;
  std::vector<std::unique_ptr<RouteBoard>> boards_;
  std::vector<Person> people_;
};

TEST(WorkersAtRandom, LoseNothingAndMarkNothingThatWasNotDelivered) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World(seed).walk();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace pillarbox::core
