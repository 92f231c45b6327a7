// SPDX-License-Identifier: Apache-2.0
// Workers and what they share. The keeper, the waker and the housekeeping are in files of their
// own.
#include "relay/outbox_run.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/url.h"
#include "pillarbox/error.h"
#include "sink/handler/factory.h"
#include "sink/registry.h"
#include "system/entropy.h"

namespace pillarbox::relay {
namespace {

constexpr std::string_view kHandlerScheme = "handler";
// While calls are in flight a worker looks up this often: is it woken, is it to drain?
constexpr Millis kCollectSlice{10};

Instant now() { return std::chrono::steady_clock::now(); }

StoreOptions store_options(const RelaySettings& settings, const OutboxSettings& outbox) {
  StoreOptions options = outbox.store;
  if (options.claimed_by.empty()) options.claimed_by = make_claimed_by();
  options.keep_dispatched = settings.retention.dispatched != Millis{0};
  return options;
}

core::WorkerPolicy worker_policy(const RelaySettings& settings) {
  core::WorkerPolicy policy;
  policy.batch_size = settings.batch_size;
  policy.batch_bytes = settings.batch_bytes;
  policy.lease = settings.lease;
  policy.poll_interval = settings.poll_interval;
  return policy;
}

}  // namespace

void Reporter::tell(const EventName& event, Fields fields) const noexcept {
  if (!observer_) return;
  try {
    if (!outbox_.empty()) fields.emplace_back("outbox", outbox_);
    observer_->event(event.name, fields);
  } catch (...) {  // an observer's trouble is not a delivery's
    static_cast<void>(0);
  }
}

OutboxRun::OutboxRun(const RelaySettings& settings, const OutboxSettings& outbox,
                     const std::map<std::string, Handler>& handlers,
                     std::shared_ptr<Observer> observer, const StoreFactory& factory)
    : settings_(settings),
      handlers_(handlers),
      name_(outbox.name),
      options_(store_options(settings, outbox)),
      factory_(factory),
      reporter_(std::move(observer), outbox.name),
      board_(settings.routes, settings.retry, core::BreakerPolicy{}, settings.workers),
      random_(system_random_number()) {
  factory_.check(options_);
  for (const SinkDefinition& sink : settings.sinks) sinks_.emplace(sink.name, &sink);
  slots_.resize(settings.workers);
  for (Slot& slot : slots_)
    slot.worker = std::make_unique<core::Worker>(worker_policy(settings), board_, random_);
}

OutboxRun::~OutboxRun() { stop(); }

void OutboxRun::start() {
  PILLARBOX_ASSERT(workers_.empty());
  running_workers_ = settings_.workers;
  for (std::size_t i = 0; i < settings_.workers; ++i)
    workers_.emplace_back([this, i] { run_worker(i); });
  others_.emplace_back([this](const std::stop_token& stop) { run_keeper(stop); });
  others_.emplace_back([this](const std::stop_token& stop) { run_waker(stop); });
  others_.emplace_back([this](const std::stop_token& stop) { run_housekeeping(stop); });
}

void OutboxRun::ask_to_drain(Instant deadline) {
  const Lock lock(mutex_);
  drain_by_ = drain_by_ ? std::min(*drain_by_, deadline) : deadline;
  for (Slot& slot : slots_) slot.delivery_stop.request_stop();
  changed_.notify_all();
}

void OutboxRun::stop() {
  ask_to_drain(now() + settings_.drain_timeout);
  workers_.clear();  // joins: each ends after its last settle
  // The keeper goes last, so that leases live as long as a worker does.
  for (std::jthread& thread : others_) thread.request_stop();
  {
    const Lock lock(mutex_);
    changed_.notify_all();
  }
  others_.clear();
}

// ---- the worker's loop ----

void OutboxRun::run_worker(std::size_t index) {
  Slot* slot = nullptr;
  {
    const Lock lock(mutex_);
    slot = &slots_[index];
  }
  std::unique_ptr<Store> store;
  Sinks sinks;
  core::Event event = core::Started{};
  for (;;) {
    std::stop_token delivery_stop;
    core::Action action = decide(*slot, std::move(event), delivery_stop);
    if (std::holds_alternative<core::DoExit>(action)) break;
    if (const auto* wait = std::get_if<core::DoWait>(&action)) {
      event = perform_wait(*slot, *wait);
    } else if (const auto* collect_action = std::get_if<core::DoCollect>(&action)) {
      event = perform_collect(*slot, *collect_action, sinks);
    } else if (const auto* deliver_action = std::get_if<core::DoDeliver>(&action)) {
      event = deliver(sinks, *deliver_action, delivery_stop);
    } else {
      try {
        if (!store) store = factory_.connect(options_);
        if (const auto* claim = std::get_if<core::DoClaim>(&action)) {
          core::Claimed claimed;
          claimed.began = now();
          ClaimRequest request;
          request.count_max = claim->count_max;
          request.bytes_max = claim->bytes_max;
          request.lease = claim->lease;
          request.excluded_types = claim->excluded_types;
          request.sweep = claim->sweep;
          claimed.result = store->claim(request);
          event = std::move(claimed);
        } else {
          event = core::Settled{store->settle(std::get<core::DoSettle>(action).settlements)};
        }
      } catch (const Error& error) {
        event = core::Failed{error.kind(), error.connection_lost(), error.in_doubt(), error.what()};
      }
    }
  }
  --running_workers_;
  const Lock lock(mutex_);
  changed_.notify_all();
}

core::Action OutboxRun::decide(Slot& slot, core::Event&& event, std::stop_token& stop) {
  std::vector<core::Note> notes;
  core::Action action;
  {
    const Lock lock(mutex_);
    if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      if (slot.checking) {
        check_ = claimed->result.messages.empty() ? Check::empty : Check::found;
        slot.checking = false;
        changed_.notify_all();
      }
      if (claimed->result.more) wake_one();
    } else if (std::holds_alternative<core::Failed>(event) && slot.checking) {
      check_ = Check::empty;
      slot.checking = false;
      changed_.notify_all();
    }
    if (std::holds_alternative<core::Settled>(event) && std::exchange(slot.gives_back, false))
      wake_one();  // this worker may have no room for them
    slot.draining = drain_by_.has_value();
    if (drain_by_) slot.worker->drain_by(*drain_by_);
    if (slot.renewed_until > slot.worker->lease_until()) slot.worker->renewed(slot.renewed_until);
    action = slot.worker->on(std::move(event), now());
    slot.leases = slot.worker->leases();
    slot.lease_until = slot.worker->lease_until();
    slot.renewed_until = Instant{};
    notes = slot.worker->take_notes();
    if (std::holds_alternative<core::DoDeliver>(action)) {
      if (slot.delivery_stop.stop_requested()) slot.delivery_stop = std::stop_source();
      stop = slot.delivery_stop.get_token();
    }
    if (const auto* settle = std::get_if<core::DoSettle>(&action)) {
      slot.gives_back = std::any_of(
          settle->settlements.begin(), settle->settlements.end(), [](const Settlement& settlement) {
            return settlement.kind == SettleKind::release && settlement.delay == Millis{0};
          });
    }
    const auto* wait = std::get_if<core::DoWait>(&action);
    const auto* collect = std::get_if<core::DoCollect>(&action);
    slot.idle = (wait != nullptr && wait->idle) || (collect != nullptr && collect->idle);
    if (slot.idle || std::holds_alternative<core::DoExit>(action)) changed_.notify_all();
  }
  report(notes);
  return action;
}

core::Event OutboxRun::perform_wait(Slot& slot, const core::DoWait& wait) {
  const Lock lock(mutex_);
  bool woken = false;
  while (!wait_is_over(slot, wait.until, wait.idle, woken)) changed_.wait_until(mutex_, wait.until);
  slot.idle = false;
  return core::Woken{!woken};
}

bool OutboxRun::wait_is_over(Slot& slot, Instant until, bool idle, bool& woken) {
  // A drain ends the wait once, also one that began before we came here: a worker that knows of it
  // waits to repeat its settle, or for what is in flight.
  if ((drain_by_ && !slot.draining) || now() >= until) return true;
  if (!idle || wakes_ == 0) return false;
  --wakes_;
  woken = true;
  if (check_ == Check::asked) slot.checking = true;
  return true;
}

core::Event OutboxRun::perform_collect(Slot& slot, const core::DoCollect& action, Sinks& sinks) {
  core::Collected collected;
  const auto routes = static_cast<std::int64_t>(action.routes.size());
  const Millis share = std::max(Millis{1}, kCollectSlice / routes);
  bool is_over = false;
  while (!is_over) {
    collected.news.clear();
    for (const core::RouteIndex route : action.routes) {
      collected.news.push_back(collect(sinks, route, std::min(action.until, now() + share)));
      if (!collected.news.back().late.empty() || collected.news.back().handle_lost) is_over = true;
    }
    const Lock lock(mutex_);
    if (!is_over) is_over = wait_is_over(slot, action.until, action.idle, collected.woken);
    if (is_over) slot.idle = false;
  }
  return collected;
}

std::size_t OutboxRun::idle_workers() const {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.idle; }));
}

void OutboxRun::wake_one() {
  if (wakes_ < idle_workers()) {
    ++wakes_;
    changed_.notify_all();
  }
}

// ---- delivering ----

std::unique_ptr<Sink> OutboxRun::make_sink(core::RouteIndex index) const {
  const RouteSettings& route = settings_.routes[index];
  const auto found = sinks_.find(route.sink);
  const std::string& url = found == sinks_.end() ? route.sink : found->second->url;
  if (core::url_scheme(url) == kHandlerScheme) {
    return handler_sink::make(handlers_.at(url.substr(kHandlerScheme.size() + 1)));
  }
  PILLARBOX_ASSERT(found != sinks_.end());
  const SinkDefinition& definition = *found->second;
  SinkSettings settings;
  settings.name = definition.name;
  settings.outbox = name_;
  settings.url = definition.url;
  settings.sink = definition.settings;
  settings.route = route.parameters;
  settings.secrets = definition.secrets;
  settings.password = definition.password;
  return sink_factory_for(definition.url).make(settings);
}

core::Delivered OutboxRun::deliver(Sinks& sinks, const core::DoDeliver& action,
                                   const std::stop_token& stop) const {
  core::Delivered delivered;
  delivered.began = now();
  std::vector<Outcome>& outcomes = delivered.outcomes;
  outcomes.assign(action.batch.size(), Outcome{});
  const std::string& route = settings_.routes[action.route].name;
  std::unique_ptr<Sink>& sink = sinks[action.route];
  try {
    if (!sink) sink = make_sink(action.route);
  } catch (const Error& error) {
    reporter_.tell(
        kSinkUnusable,
        {{"route", route}, {"code", std::string(error.code())}, {"error", error.what()}});
    std::fill(outcomes.begin(), outcomes.end(),
              Outcome::unavailable(std::string(error.code()), error.what()));
    return delivered;
  }
  std::string defect;
  try {
    sink->deliver(action.batch, {action.timeout, action.start_before, stop, action.leave_after},
                  outcomes);
    delivered.late = sink->collect(now());
    delivered.room = sink->room();
    return delivered;
  } catch (const std::exception& error) {
    defect = error.what();
  } catch (...) {
    defect = "the sink threw something that is no std::exception";
  }
  tell_defect(action.route, defect);
  for (Outcome& outcome : outcomes) {
    if (outcome.kind != OutcomeKind::delivered) outcome = Outcome::transient("sink_defect", defect);
  }
  sink.reset();
  delivered.late.clear();
  delivered.handle_lost = true;
  return delivered;
}

core::Collected::News OutboxRun::collect(Sinks& sinks, core::RouteIndex route,
                                         Instant until) const {
  core::Collected::News news{.route = route};
  std::unique_ptr<Sink>& sink = sinks[route];
  PILLARBOX_ASSERT(sink != nullptr);
  std::string defect;
  try {
    news.late = sink->collect(until);
    news.room = sink->room();
    return news;
  } catch (const std::exception& error) {
    defect = error.what();
  } catch (...) {
    defect = "the sink threw something that is no std::exception";
  }
  tell_defect(route, defect);
  sink.reset();
  news.late.clear();
  news.handle_lost = true;
  return news;
}

// A sink does not throw for what an engine answers: this is its defect. Its handle may be in any
// state.
void OutboxRun::tell_defect(core::RouteIndex route, const std::string& defect) const {
  reporter_.tell(kSinkDefect, {{"route", settings_.routes[route].name}, {"error", defect}});
}

// ---- telling ----

void OutboxRun::report(const std::vector<core::Note>& notes) const {
  for (const core::Note& note : notes) {
    Fields fields;
    if (note.route) fields.emplace_back("route", settings_.routes[*note.route].name);
    if (note.id != RowId{}) {
      fields.emplace_back("id", std::to_string(to_int(note.id)));
      if (note.message_id != MessageId{})
        fields.emplace_back("message_id", note.message_id.to_string());
    }
    if (note.attempt > 0) fields.emplace_back("attempt", std::to_string(note.attempt));
    const auto text = [&](std::string_view name) { fields.emplace_back(name, note.text); };
    const auto count = [&] { fields.emplace_back("count", std::to_string(note.count)); };
    switch (note.kind) {
      case core::NoteKind::dispatched:
        count();
        reporter_.tell(kDispatched, fields);
        break;
      case core::NoteKind::retried:
        text("error");
        reporter_.tell(kRetried, fields);
        break;
      case core::NoteKind::died:
        text("error");
        reporter_.tell(kDied, fields);
        break;
      case core::NoteKind::released:
        count();
        text("reason");
        reporter_.tell(kReleased, fields);
        break;
      case core::NoteKind::reclaimed:
        count();
        reporter_.tell(kReclaimed, fields);
        break;
      case core::NoteKind::lease_lost:
        count();
        reporter_.tell(kLeaseLost, fields);
        break;
      case core::NoteKind::settle_refused:
        text("settle");
        reporter_.tell(kSettleRefused, fields);
        break;
      case core::NoteKind::settle_abandoned:
        count();
        reporter_.tell(kSettleAbandoned, fields);
        break;
      case core::NoteKind::settle_failed:
        text("error");
        reporter_.tell(kSettleFailed, fields);
        break;
      case core::NoteKind::claim_failed:
        text("error");
        reporter_.tell(kClaimFailed, fields);
        break;
      case core::NoteKind::breaker_opened:
        text("error");
        reporter_.tell(kBreakerOpened, fields);
        break;
      case core::NoteKind::breaker_closed:
        reporter_.tell(kBreakerClosed, fields);
        break;
      case core::NoteKind::route_stopped:
        text("error");
        reporter_.tell(kRouteStopped, fields);
        break;
      case core::NoteKind::unroutable:
        text("type");
        reporter_.tell(kUnroutable, fields);
        break;
      case core::NoteKind::duplicate_absorbed:
        count();
        reporter_.tell(kDuplicateAbsorbed, fields);
        break;
    }
  }
}

bool OutboxRun::sleep_until(Instant until, const std::stop_token& stop) {
  const Lock lock(mutex_);
  while (!stop.stop_requested() && now() < until) changed_.wait_until(mutex_, until);
  return !stop.stop_requested();
}

bool OutboxRun::wait_until_idle(Instant until) {
  std::unique_ptr<StoreAdmin> admin;
  while (now() < until) {
    bool empty = false;
    try {
      if (!admin) admin = factory_.connect_admin(options_);
      const Overview overview = admin->overview();
      empty = overview.claimed == 0 && !overview.oldest_ready_at;
    } catch (const Error& error) {
      // The workers wait for the store too; what they see is what gets told.
      if (error.kind() == ErrorKind::schema || error.kind() == ErrorKind::invalid_input) throw;
    }
    const Lock lock(mutex_);
    if (empty && idle_workers() == slots_.size()) return true;
    wake_one();
    changed_.wait_until(mutex_, std::min(until, now() + Millis{20}));
  }
  return false;
}

}  // namespace pillarbox::relay
