// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/outcome.h"
#include "pillarbox/store.h"

namespace pillarbox {

struct RetryPolicy {
  std::int32_t max_attempts = 20;
  Millis base{2'000};
  Millis cap{3'600'000};  // exponential from base up to cap, full jitter
};

struct RouteSettings {
  std::string
      name;  // for logs, metrics and the brake: the sink's name, or what the configuration says
  std::string type = "*";  // exact, or with one trailing '*'; first match wins
  std::string sink;
  std::map<std::string, std::string> parameters = {};
  KeyPolicy on_dead = KeyPolicy::hold;
  std::size_t concurrency = 0;  // deliveries of this relay at once; 0: as many as there are workers
  std::size_t batch_max = 0;    // messages in one call to the sink; 0: as claimed
  Millis timeout{20'000};       // of one call to the sink, from its start
  std::optional<RetryPolicy> retry = {};
};

struct SinkDefinition {
  std::string name;
  std::string url;
  std::map<std::string, std::string> settings = {};
  std::vector<std::shared_ptr<const Secret>> secrets = {};
  std::shared_ptr<const Secret> password = {};
};

struct OutboxSettings {
  std::string name = "outbox";
  StoreOptions store;
};

struct Retention {
  std::optional<Millis> dispatched =
      Millis{std::chrono::hours(24 * 7)};  // nullopt: for ever; 0: rows leave when settled
  std::optional<Millis> dead = {};
  std::optional<Millis> tombstones = Millis{std::chrono::hours(24 * 30)};
  std::optional<Millis> inbox = Millis{std::chrono::hours(24 * 14)};
};

struct RelaySettings {
  std::vector<OutboxSettings> outboxes;
  std::vector<SinkDefinition> sinks;
  std::vector<RouteSettings> routes;
  std::size_t workers = 2;  // of each outbox
  std::size_t batch_size = 500;
  std::size_t batch_bytes = 8 * 1024 * 1024;
  Millis lease{60'000};  // must exceed the slowest route's timeout by 10 s
  Millis poll_interval{1'000};
  Millis drain_timeout{25'000};
  Millis heartbeat_interval{5'000};
  Millis purge_interval{60'000};
  RetryPolicy retry;
  Retention retention;
};

// Your code as a sink: called on a worker's thread with one message; throwing is a transient
// outcome.
using Handler = std::function<Outcome(const ClaimedMessage&)>;

// What happens, for your metrics and logs. Calls come from several threads at once; do not block in
// them.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void event(std::string_view name,
                     const std::vector<std::pair<std::string_view, std::string>>& fields) = 0;
};

// A relay to embed in a process of yours. Routes whose sink is "handler:NAME" call the handler of
// that name.
class Relay {
 public:
  // Throws Error(invalid_input) for settings that cannot work; connects to nothing yet.
  Relay(RelaySettings settings, std::map<std::string, Handler> handlers,
        std::shared_ptr<Observer> observer = {});
  ~Relay();  // stop()
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Starts the threads. A store that cannot be reached is retried for ever, with backoff. Throws
  // Error(schema) at once when a reachable store has no usable schema.
  void start();

  // Stops claiming, lets deliveries end within drain_timeout, releases the rest with their attempts
  // given back, and joins all threads. May be called twice, from any thread, and before start().
  void stop();

  // True once every worker has ended by itself: an operator asked this relay to drain.
  [[nodiscard]] bool finished() const;

  // Blocks until each outbox has nothing that is due and nothing in flight, or the time is over:
  // true when drained.
  [[nodiscard]] bool wait_until_idle(Millis timeout);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace pillarbox
