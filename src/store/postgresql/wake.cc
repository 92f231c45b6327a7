// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/wake.h"

#include <poll.h>

#include <algorithm>

#include "pillarbox/error.h"

namespace pillarbox::postgresql {
namespace {

constexpr Millis kStopLatency{100};  // how long a stop may go unnoticed

Location listen_location(const StoreOptions& options) {
  Location location = read_location(options.url);
  location.url = location.listen_url;
  return location;
}

struct FreeNotification {
  void operator()(PGnotify* p) const noexcept { PQfreemem(p); }
};

}  // namespace

PostgresqlWakeSource::PostgresqlWakeSource(const StoreOptions& options)
    : session_(listen_location(options), options, "wake"),
      deaf_(read_location(options.url).listen_url.empty()) {}

bool PostgresqlWakeSource::ask(const char* statement_name) {
  const Result answer = session_.call("wake-up", Call{statement_name, {}});
  return answer.boolean(0, 0);
}

WakeSource::Armed PostgresqlWakeSource::arm() {
  if (deaf_) return Armed::deaf;
  session_.forget_if_ended();
  if (!session_.is_connected()) {
    listening_ = false;
    holds_lock_ = false;
  }
  if (!listening_) {
    session_.execute("wake-up", session_.statement_text("listen"));
    listening_ = true;
  }
  static_cast<void>(take_notifications());  // what they announced is seen by the claim that follows
  if (holds_lock_) return Armed::exact;
  // No producer has an unannounced message on the way if nobody shares the lock.
  if (ask("sleep")) {
    holds_lock_ = true;
    return Armed::exact;
  }
  // Somebody has it. Another relay that sleeps: producers send, and all who listen hear. Else a
  // producer's transaction.
  return ask("somebody_sleeps") ? Armed::exact : Armed::racing;
}

bool PostgresqlWakeSource::take_notifications() {
  bool any = false;
  while (const std::unique_ptr<PGnotify, FreeNotification> one{PQnotifies(session_.raw())})
    any = true;
  return any;
}

bool PostgresqlWakeSource::wait(Instant until, std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (take_notifications()) return true;
    const auto left = std::chrono::duration_cast<Millis>(until - std::chrono::steady_clock::now());
    if (left <= Millis{0}) return false;
    pollfd entry{PQsocket(session_.raw()), POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min(left, kStopLatency).count()) + 1);
    if (ready > 0 && PQconsumeInput(session_.raw()) == 0) {
      session_.disconnect();
      throw Error(ErrorKind::unreachable, "PBX-4001",
                  "PostgreSQL, wake-up: the connection was lost; polling goes on",
                  {false, true, "08006"});
    }
  }
  return false;
}

void PostgresqlWakeSource::disarm() {
  if (!holds_lock_) return;
  holds_lock_ = false;
  static_cast<void>(ask("wake_up"));
}

}  // namespace pillarbox::postgresql
