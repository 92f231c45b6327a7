// SPDX-License-Identifier: Apache-2.0
#include "store/memory/outbox.h"

namespace pillarbox::memory {

std::shared_ptr<Outbox> Outbox::open(std::string_view name, std::shared_ptr<DbClock> clock) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Outbox>, std::less<>> outboxes;  // guarded by mutex
  const std::lock_guard lock(mutex);
  const auto known = outboxes.find(name);
  if (known != outboxes.end()) {
    if (std::shared_ptr<Outbox> outbox = known->second.lock()) return outbox;
  }
  std::shared_ptr<Outbox> outbox =
      clock ? std::make_shared<Outbox>(std::move(clock)) : std::make_shared<Outbox>();
  std::erase_if(outboxes, [](const auto& entry) { return entry.second.expired(); });
  outboxes[std::string(name)] = outbox;
  return outbox;
}

}  // namespace pillarbox::memory
