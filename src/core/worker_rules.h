// SPDX-License-Identifier: Apache-2.0
#pragma once

// The worker, step by step: the test plays store, sink and clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/worker.h"

namespace pillarbox::core {

using namespace std::chrono_literals;

constexpr RouteIndex kMail = 0;   // as claimed
constexpr RouteIndex kPairs = 1;  // two a call, two attempts, its dead ones are skipped

inline ClaimedMessage message(std::int64_t id, std::string type = "mail.v1",
                              std::int32_t attempts = 1) {
  ClaimedMessage message;
  message.lease = {RowId{id}, 1};
  message.job_type = std::move(type);
  message.attempts = attempts;
  return message;
}

inline Failed failure(ErrorKind kind, bool connection_lost = false, bool in_doubt = false) {
  return {.kind = kind, .connection_lost = connection_lost, .in_doubt = in_doubt, .what = "why"};
}

class WorkerRules : public ::testing::Test {
 protected:
  static std::vector<RouteSettings> routes() {
    RouteSettings mail{.name = "mail", .type = "mail.*", .sink = "m"};
    RouteSettings pairs{.name = "pairs", .type = "pair.*", .sink = "p"};
    pairs.batch_max = 2;
    pairs.on_dead = KeyPolicy::skip;
    pairs.timeout = 5s;
    pairs.retry = RetryPolicy{.max_attempts = 2, .base = 1s, .cap = 10s};
    return {mail, pairs};
  }

  // ---- the world's answers
  void answer(Event&& event) {
    action_ = worker_.on(std::move(event), now_);
    for (Note& note : worker_.take_notes()) notes_.push_back(std::move(note));
  }
  void start() { answer(Started{}); }
  void claimed(std::vector<ClaimedMessage> messages, bool more = false) {
    Claimed event;
    event.result.messages = std::move(messages);
    event.result.more = more;
    event.began = now_;
    answer(std::move(event));
  }
  void delivered(std::vector<Outcome> outcomes, Millis took = 0ms) {
    Delivered event{.outcomes = std::move(outcomes), .began = now_};
    now_ += took;
    answer(std::move(event));
  }
  void delivered_all() { delivered(std::vector<Outcome>(ids().size(), Outcome::delivered())); }
  void settled(std::vector<Lease> lost = {}) { answer(Settled{std::move(lost)}); }
  void failed(ErrorKind kind) { answer(failure(kind)); }
  void wait_out() {
    now_ = std::get<DoWait>(action_).until;
    answer(Woken{.by_timer = true});
  }
  // From a claim that brought `messages` to the settle of what became of them.
  void run_through(std::vector<ClaimedMessage> messages, Outcome outcome) {
    claimed(std::move(messages));
    delivered(std::vector<Outcome>(ids().size(), outcome));
  }

  // ---- what it wants
  template <class T>
  [[nodiscard]] bool wants() const {
    return std::holds_alternative<T>(action_);
  }
  [[nodiscard]] const DoClaim& claim() const { return std::get<DoClaim>(action_); }
  [[nodiscard]] const DoDeliver& delivery() const { return std::get<DoDeliver>(action_); }
  [[nodiscard]] std::vector<std::int64_t> ids() const {  // of the delivery
    std::vector<std::int64_t> ids;
    for (const ClaimedMessage& m : delivery().batch) ids.push_back(to_int(m.lease.id));
    return ids;
  }
  [[nodiscard]] std::vector<Settlement> settle() const {
    const auto span = std::get<DoSettle>(action_).settlements;
    return {span.begin(), span.end()};
  }
  [[nodiscard]] Settlement only_settlement() const {
    const auto all = settle();
    EXPECT_EQ(all.size(), 1U);
    return all.at(0);
  }
  [[nodiscard]] std::vector<std::int64_t> leases() const {
    std::vector<std::int64_t> ids;
    for (const Lease& lease : worker_.leases()) ids.push_back(to_int(lease.id));
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  [[nodiscard]] std::size_t count(NoteKind kind) const {
    std::size_t count = 0;
    for (const Note& note : notes_) {
      if (note.kind == kind) count += note.count;
    }
    return count;
  }
  [[nodiscard]] std::string text(NoteKind kind) const {
    for (const Note& note : notes_) {
      if (note.kind == kind) return note.text;
    }
    return "no such note";
  }

  Instant now_{1h};
  SeededRandom random_{17};
  RouteBoard board_{routes(), RetryPolicy{.max_attempts = 20, .base = 2s, .cap = 1h},
                    BreakerPolicy{}, 4};
  Worker worker_{WorkerPolicy{}, board_, random_};
  Action action_ = DoExit{};
  std::vector<Note> notes_;
};

}  // namespace pillarbox::core
