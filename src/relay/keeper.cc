// SPDX-License-Identifier: Apache-2.0
// The keeper renews running leases over its own connection, since a worker that waits for its sink
// cannot, and reads the brakes, so that a batch already claimed stops before its next delivery.
#include <algorithm>
#include <utility>

#include "pillarbox/error.h"
#include "relay/outbox_run.h"

namespace pillarbox::relay {

void OutboxRun::run_keeper(const std::stop_token& stop) {
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreAdmin> admin;
  const Millis period = std::min(Millis{1'000}, std::max(Millis{10}, settings_.lease / 6));
  std::string failing;  // the code of what was told: told once, not each second
  while (sleep_until(std::chrono::steady_clock::now() + period, stop)) {
    try {
      renew_leases(store);
      read_brakes(admin);
      failing.clear();
    } catch (const Error& error) {
      if (std::exchange(failing, error.code()) == error.code()) continue;
      reporter_.tell(kKeeperFailed, {{"code", std::string(error.code())}, {"error", error.what()}});
    }
  }
}

void OutboxRun::renew_leases(std::unique_ptr<Store>& store) {
  const Instant began = std::chrono::steady_clock::now();
  std::vector<Lease> leases;
  {
    const Lock lock(mutex_);
    for (const Slot& slot : slots_) {
      if (!slot.leases.empty() && slot.lease_until - began < settings_.lease / 2) {
        leases.insert(leases.end(), slot.leases.begin(), slot.leases.end());
      }
    }
  }
  if (leases.empty()) return;
  if (!store) store = factory_.connect(options_);
  // Those that are lost are found out again by settle, which changes nothing for them.
  const std::vector<Lease> lost = store->renew(leases, settings_.lease);
  const Lock lock(mutex_);
  for (Slot& slot : slots_) {
    const bool asked = !slot.leases.empty() && slot.lease_until - began < settings_.lease / 2;
    const bool all_ours =
        std::none_of(slot.leases.begin(), slot.leases.end(), [&](const Lease& lease) {
          return std::find(lost.begin(), lost.end(), lease) != lost.end();
        });
    const bool all_renewed =
        std::all_of(slot.leases.begin(), slot.leases.end(), [&](const Lease& lease) {
          return std::find(leases.begin(), leases.end(), lease) != leases.end();
        });
    if (asked && all_ours && all_renewed) {
      slot.renewed_until = began + settings_.lease;
      slot.lease_until = slot.renewed_until;
    }
  }
}

void OutboxRun::read_brakes(std::unique_ptr<StoreAdmin>& admin) {
  if (!admin) admin = factory_.connect_admin(options_);
  std::vector<std::string> scopes;
  for (BrakeRow& brake : admin->brakes()) scopes.push_back(std::move(brake.scope));
  const Lock lock(mutex_);
  board_.set_brakes(std::move(scopes));
  for (Slot& slot : slots_) {
    if (slot.worker->delivery_is_braked()) slot.delivery_stop.request_stop();
  }
  // What was left alone may go on now: somebody must look before the next poll.
  if (board_.wants_sweep(std::chrono::steady_clock::now())) wake_one();
}

}  // namespace pillarbox::relay
