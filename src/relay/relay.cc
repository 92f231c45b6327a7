// SPDX-License-Identifier: Apache-2.0
#include "pillarbox/relay.h"

#include <algorithm>
#include <set>

#include "core/type_pattern.h"
#include "core/units.h"
#include "core/url.h"
#include "pillarbox/error.h"
#include "pillarbox/version.h"
#include "relay/outbox_run.h"
#include "sink/registry.h"
#include "store/registry.h"

namespace pillarbox {
namespace {

constexpr Millis kLeaseMargin{10'000};

[[noreturn]] void refuse(std::string_view code, const std::string& what) {
  throw Error(ErrorKind::invalid_input, code, "relay settings refused: " + what);
}

void check_retry(const RetryPolicy& retry, const std::string& of) {
  if (retry.max_attempts < 1) refuse("PBX-2022", of + ": max_attempts must be at least 1");
  if (retry.base < Millis{1} || retry.cap < retry.base)
    refuse("PBX-2022", of + ": base must be at least 1ms, and cap no shorter than base");
}

void check(const RelaySettings& settings, const std::map<std::string, Handler>& handlers) {
  if (settings.outboxes.empty())
    refuse("PBX-2021", "there is no outbox; add one with its store's URL");
  if (settings.workers < 1 || settings.workers > 64)
    refuse("PBX-2022", "workers must be from 1 to 64");
  if (settings.batch_size < 1 || settings.batch_size > 10'000)
    refuse("PBX-2022", "batch_size must be from 1 to 10000");
  if (settings.batch_bytes < 1) refuse("PBX-2022", "batch_bytes must be at least 1");
  if (settings.poll_interval < Millis{1}) refuse("PBX-2022", "poll_interval must be at least 1ms");
  if (settings.heartbeat_interval < Millis{1} || settings.purge_interval < Millis{1})
    refuse("PBX-2022", "heartbeat_interval and purge_interval must be at least 1ms");
  if (settings.drain_timeout < Millis{0}) refuse("PBX-2022", "drain_timeout must not be negative");
  check_retry(settings.retry, "retry");
  std::set<std::string> names;
  for (const OutboxSettings& outbox : settings.outboxes) {
    if (!names.insert(outbox.name).second)
      refuse("PBX-2023", "outbox '" + outbox.name + "' is there twice");
  }
  for (const RouteSettings& route : settings.routes) {
    if (!core::is_type_pattern(route.type)) {
      refuse("PBX-2024",
             "route type '" + route.type + "' must be a job type, with at most one '*' at its end");
    }
    if (route.timeout < Millis{1})
      refuse("PBX-2022", "route '" + route.name + "': timeout must be at least 1ms");
    if (route.retry) check_retry(*route.retry, "route '" + route.name + "'");
    if (settings.lease < route.timeout + kLeaseMargin) {
      refuse("PBX-2020", "lease is " + core::format_duration(settings.lease) + " but route '" +
                             route.name + "' may take " + core::format_duration(route.timeout) +
                             ": it must be at least " +
                             core::format_duration(route.timeout + kLeaseMargin));
    }
    const auto sink = std::find_if(settings.sinks.begin(), settings.sinks.end(),
                                   [&](const SinkDefinition& s) { return s.name == route.sink; });
    const std::string& url = sink == settings.sinks.end() ? route.sink : sink->url;
    if (core::url_scheme(url) == "handler") {
      if (!handlers.contains(url.substr(sizeof("handler:") - 1))) {
        refuse("PBX-2025",
               "route '" + route.name + "' names " + url + ", and no such handler was given");
      }
    } else if (sink == settings.sinks.end()) {
      refuse("PBX-2025",
             "route '" + route.name + "' names sink '" + route.sink + "', which is not defined");
    } else {
      SinkSettings made;
      made.name = sink->name;
      made.url = sink->url;
      made.sink = sink->settings;
      made.route = route.parameters;
      made.secrets = sink->secrets;
      made.password = sink->password;
      sink_factory_for(sink->url).check(made);
    }
  }
}

// A store that answers and has no usable schema will not mend itself: say so at once.
void check_schema(const OutboxSettings& outbox, const relay::Reporter& reporter) {
  const StoreFactory& factory = store_factory_for(outbox.store.url);
  try {
    const SchemaState state = factory.schema(outbox.store)->state();
    if (state.version == 0) {
      throw Error(ErrorKind::schema, "PBX-3001",
                  "outbox '" + outbox.name + "' has no schema in " +
                      core::redact_url(outbox.store.url) + "; run: pillarbox migrate");
    }
    if (state.version != state.newest_known) {
      throw Error(ErrorKind::schema, state.version < state.newest_known ? "PBX-3002" : "PBX-3003",
                  "outbox '" + outbox.name + "' has schema " + std::to_string(state.version) +
                      ", this program wants " + std::to_string(state.newest_known) +
                      (state.version < state.newest_known ? "; run: pillarbox migrate"
                                                          : "; run a newer pillarbox"));
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::schema || error.kind() == ErrorKind::invalid_input) throw;
    reporter.tell(relay::kStoreUnreachable,
                  {{"code", std::string(error.code())}, {"error", error.what()}});
  }
}

}  // namespace

class Relay::Body {
 public:
  Body(RelaySettings settings, std::map<std::string, Handler> handlers,
       std::shared_ptr<Observer> observer)
      : settings_(std::move(settings)),
        handlers_(std::move(handlers)),
        observer_(std::move(observer)) {
    for (RouteSettings& route : settings_.routes) {
      if (route.name.empty()) route.name = route.sink;
    }
    check(settings_, handlers_);
    for (const OutboxSettings& outbox : settings_.outboxes) {
      runs_.push_back(std::make_unique<relay::OutboxRun>(settings_, outbox, handlers_, observer_,
                                                         store_factory_for(outbox.store.url)));
    }
  }

  void start() {
    const relay::Lock lock(mutex_);
    if (started_ || stopped_) return;
    for (const OutboxSettings& outbox : settings_.outboxes)
      check_schema(outbox, {observer_, outbox.name});
    for (const auto& run : runs_) run->start();
    started_ = true;
    tell(relay::kRelayStarted,
         {{"version", std::string(kVersion)}, {"outboxes", std::to_string(runs_.size())}});
  }

  void stop() {
    const relay::Lock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    if (!started_) return;
    tell(relay::kRelayDraining,
         {{"drain_timeout", core::format_duration(settings_.drain_timeout)}});
    // All are asked first, so that they drain side by side.
    for (const auto& run : runs_)
      run->ask_to_drain(std::chrono::steady_clock::now() + settings_.drain_timeout);
    for (const auto& run : runs_) run->stop();
    tell(relay::kRelayStopped, {});
  }

  [[nodiscard]] bool finished() const {
    const relay::Lock lock(mutex_);
    return started_ && std::all_of(runs_.begin(), runs_.end(),
                                   [](const auto& run) { return run->workers_have_ended(); });
  }

  [[nodiscard]] bool wait_until_idle(Millis timeout) const {
    const Instant until = std::chrono::steady_clock::now() + timeout;
    return std::all_of(runs_.begin(), runs_.end(),
                       [&](const auto& run) { return run->wait_until_idle(until); });
  }

 private:
  void tell(const relay::EventName& event, const relay::Fields& fields) const {
    relay::Reporter(observer_, {}).tell(event, fields);
  }

  RelaySettings settings_;
  std::map<std::string, Handler> handlers_;
  std::shared_ptr<Observer> observer_;
  std::vector<std::unique_ptr<relay::OutboxRun>> runs_;
  mutable relay::Mutex mutex_;
  bool started_ PILLARBOX_GUARDED_BY(mutex_) = false;
  bool stopped_ PILLARBOX_GUARDED_BY(mutex_) = false;
};

Relay::Relay(RelaySettings settings, std::map<std::string, Handler> handlers,
             std::shared_ptr<Observer> observer)
    : body_(std::make_unique<Body>(std::move(settings), std::move(handlers), std::move(observer))) {
}
Relay::~Relay() { stop(); }
void Relay::start() { body_->start(); }
void Relay::stop() { body_->stop(); }
bool Relay::finished() const { return body_->finished(); }
bool Relay::wait_until_idle(Millis timeout) { return body_->wait_until_idle(timeout); }

}  // namespace pillarbox
