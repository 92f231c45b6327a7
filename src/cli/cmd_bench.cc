// SPDX-License-Identifier: Apache-2.0
// bench: the product's own speed on this machine. Rates vary between machines; compare within one
// run.
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include "cli/actions.h"
#include "cli/bench_bed.h"
#include "core/units.h"
#include "core/url.h"
#include "json/json.h"
#include "pillarbox/relay.h"
#include "pillarbox/version.h"

namespace pillarbox::cli {
namespace {

using Clock = std::chrono::steady_clock;

Plan plan_of(const Arguments& a, std::int64_t messages) {
  const auto number = [&](std::string_view flag, std::int64_t otherwise, std::int64_t high) {
    return static_cast<std::size_t>(number_of(a, flag, otherwise, 1, high));
  };
  Plan p;
  p.messages = number("messages", messages, 100'000'000);
  p.size = number("size", 300, 16 * 1024 * 1024);
  p.workers = number("workers", 2, 64);
  p.clients = number("clients", 4, 256);
  p.batch = number("batch", 500, 10'000);
  p.runs = number("runs", 3, 100);
  p.rate = number("rate", 200, 100'000);
  p.keys = static_cast<std::size_t>(number_of(a, "keys", 0, 0, 10'000'000));
  p.leave = a.has("leave");
  return p;
}

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// User and system time of this process so far.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// Each client commits its messages one by one. Returns how long all of it took.
Clock::duration enqueue_one_by_one(Bed& bed, const Plan& plan) {
  std::latch ready(static_cast<std::ptrdiff_t>(plan.clients) + 1);
  std::vector<std::jthread> clients;
  std::mutex mutex;
  std::exception_ptr trouble;
  for (std::size_t c = 0; c < plan.clients; ++c) {
    clients.emplace_back([&, c] {
      try {
        const auto admin = bed.factory().connect_admin(bed.options());
        static_cast<void>(admin->brakes());  // connected before the clock starts
        ready.arrive_and_wait();
        for (std::size_t i = c; i < plan.messages; i += plan.clients)
          admin->enqueue(bench_message(plan, i));
      } catch (...) {
        const std::lock_guard lock(mutex);
        trouble = std::current_exception();
      }
    });
  }
  ready.arrive_and_wait();
  const auto began = Clock::now();
  clients.clear();
  const auto took = Clock::now() - began;
  if (trouble) std::rethrow_exception(trouble);
  return took;
}

struct Figure {
  double rate = 0;
  double cpu_us_per_message = 0;
};

int tell(Context& context, const Bed& bed, const Plan& plan, std::string_view what,
         std::vector<Figure> figures) {
  std::sort(figures.begin(), figures.end(),
            [](const Figure& a, const Figure& b) { return a.rate < b.rate; });
  const Figure& median = figures[figures.size() / 2];
  utsname system{};
  ::uname(&system);
  Record record;
  const auto whole = [](double value) { return static_cast<std::int64_t>(std::llround(value)); };
  record.add("bench", std::string(what));
  record.add("messages_per_second", whole(median.rate));
  record.add("min", whole(figures.front().rate));
  record.add("max", whole(figures.back().rate));
  record.add("runs", static_cast<std::int64_t>(figures.size()));
  char cpu[32];
  std::snprintf(cpu, sizeof cpu, "%.2f", median.cpu_us_per_message);
  record.add("process_cpu_us_per_message", std::string(cpu));
  record.add("resident_kib", resident_kib());
  record.add("messages", static_cast<std::int64_t>(plan.messages));
  record.add("payload_bytes", static_cast<std::int64_t>(plan.size));
  record.add("batch", static_cast<std::int64_t>(plan.batch));
  record.add("workers", static_cast<std::int64_t>(plan.workers));
  record.add("clients", static_cast<std::int64_t>(plan.clients));
  record.add("keys", static_cast<std::int64_t>(plan.keys));
  record.add("settled_rows", std::string(plan.leave ? "leave" : "kept"));
  record.add("store", core::redact_url(bed.options().url));
  record.add("machine", std::to_string(std::thread::hardware_concurrency()) + " x " + cpu_model() +
                            ", " + system.sysname + " " + system.release);
  record.add("version", std::string(kVersion));
  record.write(context.style(), {});
  return kDone;
}

RelaySettings relay_settings(const Bed& bed, const Plan& plan) {
  RelaySettings settings;
  settings.outboxes = {OutboxSettings{"bench", bed.options()}};
  settings.sinks = {SinkDefinition{.name = "null", .url = "null:"}};
  settings.routes = {RouteSettings{.name = "null", .type = "*", .sink = "null"}};
  settings.workers = plan.workers;
  settings.batch_size = plan.batch;
  settings.retention.dispatched = plan.leave ? std::optional<Millis>(Millis{0}) : std::nullopt;
  return settings;
}

// Counts deliveries and tells who waits for the last one.
class Counter final : public Observer {
 public:
  explicit Counter(std::size_t wanted) : wanted_(wanted) {}
  void event(std::string_view name,
             const std::vector<std::pair<std::string_view, std::string>>& fields) override {
    if (name != "dispatched") return;
    for (const auto& [field, value] : fields) {
      if (field == "count") seen_ += std::strtoull(value.c_str(), nullptr, 10);
    }
    if (seen_ >= wanted_) {
      done_ = true;
      done_.notify_all();
    }
  }
  void wait() { done_.wait(false); }

 private:
  std::size_t wanted_;
  std::atomic<std::size_t> seen_{0};
  std::atomic<bool> done_{false};
};

}  // namespace

int bench_enqueue(Context& context, const Arguments& arguments) {
  const Plan plan = plan_of(arguments, 50'000);
  Bed bed(context, arguments);
  std::vector<Figure> figures;
  for (std::size_t run = 0; run < plan.runs; ++run) {
    const double cpu = cpu_seconds();
    const double took = seconds(enqueue_one_by_one(bed, plan));
    const auto n = static_cast<double>(plan.messages);
    figures.push_back({n / took, (cpu_seconds() - cpu) * 1e6 / n});
    context.say("run " + std::to_string(run + 1) + ": " +
                std::to_string(static_cast<std::int64_t>(figures.back().rate)) + " commits/s");
    bed.drain();
  }
  return tell(context, bed, plan, "enqueue, one message a transaction", std::move(figures));
}

int bench_claim(Context& context, const Arguments& arguments) {
  const Plan plan = plan_of(arguments, 500'000);
  Bed bed(context, arguments);
  std::vector<Figure> figures;
  for (std::size_t run = 0; run < plan.runs; ++run) {
    bed.fill(plan);
    const double cpu = cpu_seconds();
    const auto began = Clock::now();
    std::atomic<std::size_t> settled{0};
    std::mutex mutex;
    std::exception_ptr trouble;
    std::vector<std::jthread> workers;
    for (std::size_t w = 0; w < plan.workers; ++w) {
      workers.emplace_back([&] {
        try {
          StoreOptions options = bed.options();
          options.claimed_by = make_claimed_by();
          options.keep_dispatched = !plan.leave;
          const auto store = bed.factory().connect(options);
          ClaimRequest request;
          request.count_max = plan.batch;
          while (settled < plan.messages) {
            const ClaimResult result = store->claim(request);
            request.sweep = result.messages.empty();
            std::vector<Settlement> settlements;
            for (const ClaimedMessage& message : result.messages) {
              settlements.push_back({.lease = message.lease, .kind = SettleKind::dispatched});
            }
            const auto lost = store->settle(settlements);
            settled += settlements.size() - lost.size();
          }
        } catch (...) {
          const std::lock_guard lock(mutex);
          trouble = std::current_exception();
          settled = plan.messages;
        }
      });
    }
    workers.clear();
    if (trouble) std::rethrow_exception(trouble);
    const auto n = static_cast<double>(plan.messages);
    figures.push_back({n / seconds(Clock::now() - began), (cpu_seconds() - cpu) * 1e6 / n});
    context.say("run " + std::to_string(run + 1) + ": " +
                std::to_string(static_cast<std::int64_t>(figures.back().rate)) + " messages/s");
    bed.empty();
  }
  return tell(context, bed, plan, "claim and settle, no relay", std::move(figures));
}

int bench_relay(Context& context, const Arguments& arguments) {
  const Plan plan = plan_of(arguments, 500'000);
  Bed bed(context, arguments);
  std::vector<Figure> figures;
  for (std::size_t run = 0; run < plan.runs; ++run) {
    bed.fill(plan);
    const auto counter = std::make_shared<Counter>(plan.messages);
    Relay relay(relay_settings(bed, plan), {}, counter);
    const double cpu = cpu_seconds();
    const auto began = Clock::now();
    relay.start();
    counter->wait();
    const auto n = static_cast<double>(plan.messages);
    figures.push_back({n / seconds(Clock::now() - began), (cpu_seconds() - cpu) * 1e6 / n});
    context.say("run " + std::to_string(run + 1) + ": " +
                std::to_string(static_cast<std::int64_t>(figures.back().rate)) + " messages/s");
    relay.stop();
    bed.empty();
  }
  return tell(context, bed, plan, "drain through the relay, null sink", std::move(figures));
}

int bench_latency(Context& context, const Arguments& arguments) {
  const Plan plan = plan_of(arguments, 2'000);
  Bed bed(context, arguments);
  std::mutex mutex;
  std::map<MessageId, Clock::time_point> arrived;
  std::atomic<std::size_t> count{0};
  RelaySettings settings = relay_settings(bed, plan);
  settings.routes[0].sink = "handler:clock";
  settings.sinks.clear();
  Relay relay(settings, {{"clock", [&](const ClaimedMessage& message) {
                            const auto at = Clock::now();
                            {
                              const std::lock_guard lock(mutex);
                              arrived.emplace(message.message_id, at);
                            }
                            ++count;
                            return Outcome::delivered();
                          }}});
  relay.start();
  if (!relay.wait_until_idle(Millis{10'000}))
    throw Error(ErrorKind::timeout, "PBX-6006", "the relay did not come to rest");
  std::vector<std::pair<MessageId, Clock::time_point>> committed;
  auto next = Clock::now();
  for (std::size_t i = 0; i < plan.messages; ++i) {
    std::this_thread::sleep_until(next);
    next += std::chrono::nanoseconds(1'000'000'000 / plan.rate);
    const MessageId id = bed.admin().enqueue(bench_message(plan, i));
    committed.emplace_back(id, Clock::now());
  }
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (count < plan.messages && Clock::now() < until)
    static_cast<void>(relay.wait_until_idle(Millis{200}));
  relay.stop();
  bed.drain();
  std::vector<double> ms;
  for (const auto& [id, at] : committed) {
    const auto found = arrived.find(id);
    if (found != arrived.end()) ms.push_back(std::max(0.0, seconds(found->second - at) * 1e3));
  }
  std::sort(ms.begin(), ms.end());
  if (ms.empty()) throw Error(ErrorKind::internal, "PBX-6006", "nothing arrived");
  const auto at = [&](double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f",
                  ms[std::min(ms.size() - 1,
                              static_cast<std::size_t>(share * static_cast<double>(ms.size())))]);
    return std::string(text);
  };
  Record record;
  record.add("bench", std::string("commit to delivery, relay idle in between"));
  record.add("p50_ms", at(0.5));
  record.add("p95_ms", at(0.95));
  record.add("p99_ms", at(0.99));
  record.add("max_ms", at(1.0));
  record.add("messages", static_cast<std::int64_t>(ms.size()));
  record.add("rate", static_cast<std::int64_t>(plan.rate));
  record.add("store", core::redact_url(bed.options().url));
  record.add("machine", std::to_string(std::thread::hardware_concurrency()) + " x " + cpu_model());
  record.add("version", std::string(kVersion));
  record.write(context.style(), {});
  return kDone;
}

}  // namespace pillarbox::cli
