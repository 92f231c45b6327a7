// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/random.h"
#include "core/route_board.h"
#include "core/worker.h"
#include "pillarbox/relay.h"
#include "relay/events.h"
#include "relay/mutex.h"

namespace pillarbox::relay {

using Fields = std::vector<std::pair<std::string_view, std::string>>;

// Tells the observer, if there is one; an observer that throws cannot stop a delivery.
class Reporter {
 public:
  Reporter(std::shared_ptr<Observer> observer, std::string outbox)
      : observer_(std::move(observer)), outbox_(std::move(outbox)) {}
  void tell(const EventName& event, Fields fields) const noexcept;

 private:
  std::shared_ptr<Observer> observer_;
  std::string outbox_;
};

// One outbox served by one relay: its workers, their keeper, the waker and the housekeeping, each a
// thread with connections of its own. start() and stop() are called by one thread at a time. All
// that is given by reference outlives it.
class OutboxRun {
 public:
  OutboxRun(const RelaySettings& settings, const OutboxSettings& outbox,
            const std::map<std::string, Handler>& handlers, std::shared_ptr<Observer> observer,
            const StoreFactory& factory);
  ~OutboxRun();
  OutboxRun(const OutboxRun&) = delete;
  OutboxRun& operator=(const OutboxRun&) = delete;

  void start();
  void ask_to_drain(Instant deadline);  // returns at once
  void stop();                          // joins; idempotent

  [[nodiscard]] bool workers_have_ended() const { return running_workers_.load() == 0; }
  [[nodiscard]] bool wait_until_idle(Instant until);

 private:
  struct Slot {  // of one worker
    std::unique_ptr<core::Worker> worker;
    bool idle = false;
    bool draining = false;           // and knows it
    bool gives_back = false;         // its settle returns messages that are due now
    bool checking = false;           // consumed a wake-up and has not yet said what it found
    std::stop_source delivery_stop;  // asks the delivery that runs to send nothing more
    Instant renewed_until{};
    std::vector<Lease> leases;  // to be kept alive
    Instant lease_until{};
  };
  enum class Check { none, asked, empty, found };

  void run_worker(std::size_t index);
  void run_keeper(const std::stop_token& stop);
  void run_waker(const std::stop_token& stop);
  void run_housekeeping(const std::stop_token& stop);

  // `stop` becomes the token of the delivery to perform.
  core::Action decide(Slot& slot, core::Event&& event, std::stop_token& stop);
  using Sinks = std::map<core::RouteIndex, std::unique_ptr<Sink>>;  // of one worker
  core::Event perform_wait(Slot& slot, const core::DoWait& wait);
  core::Event perform_collect(Slot& slot, const core::DoCollect& collect, Sinks& sinks);
  // True when the wait is over; `woken`: by something that may be due.
  bool wait_is_over(Slot& slot, Instant until, bool idle, bool& woken) PILLARBOX_REQUIRES(mutex_);
  [[nodiscard]] core::Delivered deliver(Sinks& sinks, const core::DoDeliver& action,
                                        const std::stop_token& stop) const;
  [[nodiscard]] core::Collected::News collect(Sinks& sinks, core::RouteIndex route,
                                              Instant until) const;
  void tell_defect(core::RouteIndex route, const std::string& defect) const;
  [[nodiscard]] std::unique_ptr<Sink> make_sink(core::RouteIndex route) const;
  void report(const std::vector<core::Note>& notes) const;
  void renew_leases(std::unique_ptr<Store>& store);
  void read_brakes(std::unique_ptr<StoreAdmin>& admin);
  void purge(StoreAdmin& admin, const std::stop_token& stop);
  bool sleep_until(Instant until, const std::stop_token& stop);  // false: stop was asked
  Check check_now(Instant until,
                  const std::stop_token& stop);  // wakes one idle worker and hears what it found
  void wake_one() PILLARBOX_REQUIRES(mutex_);
  [[nodiscard]] std::size_t idle_workers() const PILLARBOX_REQUIRES(mutex_);

  // constant after construction
  const RelaySettings& settings_;
  const std::map<std::string, Handler>& handlers_;
  std::string name_;
  StoreOptions options_;
  const StoreFactory& factory_;
  Reporter reporter_;
  std::map<std::string, const SinkDefinition*> sinks_;

  mutable Mutex mutex_;
  Condition changed_;
  core::RouteBoard board_ PILLARBOX_GUARDED_BY(mutex_);
  core::SeededRandom random_ PILLARBOX_GUARDED_BY(mutex_);
  std::vector<Slot> slots_ PILLARBOX_GUARDED_BY(mutex_);
  std::size_t wakes_ PILLARBOX_GUARDED_BY(mutex_) = 0;  // given and not yet taken
  Check check_ PILLARBOX_GUARDED_BY(mutex_) = Check::none;
  std::optional<Instant> drain_by_ PILLARBOX_GUARDED_BY(mutex_);

  std::atomic<std::size_t> running_workers_{0};
  std::vector<std::jthread> workers_;
  std::vector<std::jthread> others_;
};

}  // namespace pillarbox::relay
