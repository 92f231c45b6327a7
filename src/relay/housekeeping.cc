// SPDX-License-Identifier: Apache-2.0
// Heartbeat and retention. Purging goes in small batches on its own schedule, however busy the
// workers are, and takes at most a fifth of the time.
#include "pillarbox/error.h"
#include "pillarbox/version.h"
#include "relay/outbox_run.h"

namespace pillarbox::relay {
namespace {

constexpr std::size_t kPurgeBatch = 1'000;
constexpr int kPurgeShare = 5;

Instant now() { return std::chrono::steady_clock::now(); }

}  // namespace

void OutboxRun::run_housekeeping(const std::stop_token& stop) {
  std::unique_ptr<StoreAdmin> admin;
  Instant next_purge = now() + settings_.purge_interval;
  bool asked = false;
  do {
    try {
      if (!admin) admin = factory_.connect_admin(options_);
      RelayRow row;
      row.claimed_by = options_.claimed_by;
      row.version = kVersion;
      row.workers = static_cast<std::int32_t>(settings_.workers);
      {
        const Lock lock(mutex_);
        for (const Slot& slot : slots_)
          row.leases_held += static_cast<std::int64_t>(slot.leases.size());
        row.draining = drain_by_.has_value();
      }
      if (admin->heartbeat(row) && !asked) {
        asked = true;
        reporter_.tell(kDrainAsked, {});
        ask_to_drain(now() + settings_.drain_timeout);
      }
      if (now() >= next_purge) {
        purge(*admin, stop);
        next_purge = now() + settings_.purge_interval;
      }
    } catch (const Error& error) {
      if (error.connection_lost()) admin.reset();
      reporter_.tell(kHousekeepingFailed,
                     {{"code", std::string(error.code())}, {"error", error.what()}});
    }
  } while (sleep_until(now() + settings_.heartbeat_interval, stop));
  try {
    if (admin) admin->say_goodbye(options_.claimed_by);
  } catch (const Error& error) {
    // The row ages out by itself.
    reporter_.tell(kHousekeepingFailed,
                   {{"code", std::string(error.code())}, {"error", error.what()}});
  }
}

void OutboxRun::purge(StoreAdmin& admin, const std::stop_token& stop) {
  const Retention& keep = settings_.retention;
  const std::pair<PurgeKind, std::optional<Millis>> kinds[] = {
      {PurgeKind::dispatched, keep.dispatched},
      {PurgeKind::dead, keep.dead},
      {PurgeKind::tombstones, keep.tombstones},
      {PurgeKind::inbox, keep.inbox}};
  for (const auto& [kind, age] : kinds) {
    if (!age) continue;
    std::int64_t total = 0;
    for (;;) {
      const Instant began = now();
      const std::int64_t removed = admin.purge(kind, *age, kPurgeBatch);
      total += removed;
      if (removed < static_cast<std::int64_t>(kPurgeBatch)) break;
      if (!sleep_until(now() + (kPurgeShare - 1) * (now() - began), stop)) return;
    }
    if (total > 0) reporter_.tell(kPurged, {{"count", std::to_string(total)}});
  }
}

}  // namespace pillarbox::relay
