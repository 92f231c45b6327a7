// SPDX-License-Identifier: Apache-2.0
// run: the relay in the foreground.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include "cli/actions.h"
#include "cli/log.h"
#include "pillarbox/relay.h"

namespace pillarbox::cli {
namespace {

relay::Level level_named(const std::string& name) {
  if (name == "debug") return relay::Level::debug;
  if (name == "warn") return relay::Level::warn;
  return name == "error" ? relay::Level::error : relay::Level::info;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// The next of the signals, or 0 after a short while.
int wait_for_signal(const sigset_t& set) {
  const timespec patience{0, 200'000'000};
  const int signal = sigtimedwait(&set, nullptr, &patience);
  return signal < 0 ? 0 : signal;
}

}  // namespace

int run_relay(Context& context, const Arguments& arguments) {
  const config::Configuration& configuration = context.configuration();
  if (configuration.relay.routes.empty()) {
    throw UsageError(
        "there is no route: nothing would be delivered. Add [sink.NAME] and [[route]], or give "
        "--sink URL");
  }
  RelaySettings settings = configuration.relay;
  const std::string name = make_claimed_by();
  for (OutboxSettings& outbox : settings.outboxes) outbox.store.claimed_by = name;
  const bool json = configuration.log_format == "json" ||
                    (configuration.log_format == "auto" && ::isatty(STDERR_FILENO) != 1);
  const relay::Level level =
      arguments.has("verbose") ? relay::Level::debug : level_named(configuration.log_level);
  const auto observer = std::make_shared<LogObserver>(level, json, name);

  // Blocked before any thread starts, so that only we take them.
  const sigset_t signals = stop_signals();
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return kFailed;
  Relay relay(std::move(settings), {}, observer);
  relay.start();
  while (wait_for_signal(signals) == 0) {
    if (relay.finished()) break;  // an operator asked this relay to drain
  }
  std::atomic<bool> stopped{false};
  std::jthread stopper([&] {
    relay.stop();
    stopped = true;
  });
  while (!stopped) {
    // The second signal: at once. Leases bring the work back.
    if (wait_for_signal(signals) != 0) ::_exit(kInterrupted);
  }
  return kDone;
}

}  // namespace pillarbox::cli
