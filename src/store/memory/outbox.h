// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "store/memory/clock.h"
#include "store/memory/tables.h"

namespace pillarbox::memory {

class Producer;

// One outbox in this process's memory, shared by the sessions that name it. Thread-safe; every call
// that takes the lock is one transaction.
class Outbox {
 public:
  explicit Outbox(std::shared_ptr<DbClock> clock = std::make_shared<SystemDbClock>())
      : clock_(std::move(clock)) {}

  // The outbox of that name, made when there is none. It lives as long as somebody holds it. A
  // clock is used only when the outbox is made here.
  [[nodiscard]] static std::shared_ptr<Outbox> open(std::string_view name,
                                                    std::shared_ptr<DbClock> clock = {});

  // One transaction: work(tables, now) runs alone.
  template <class Work>
  auto transact(const Work& work) {
    const std::lock_guard lock(mutex_);
    return work(tables_, clock_->now());
  }

  // As transact(), and sleeping relays wake up.
  template <class Work>
  auto transact_and_wake(const Work& work) {
    const std::lock_guard lock(mutex_);
    ++commits_;
    changed_.notify_all();
    return work(tables_, clock_->now());
  }

 private:
  friend class Producer;
  friend class MemoryWakeSource;

  const std::shared_ptr<DbClock> clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;  // a commit, or a producer's locks let go
  // Guarded by mutex_:
  Tables tables_;
  std::uint64_t commits_ = 0;
  std::map<std::string, Producer*> locks_;  // what open transactions of producers hold
};

}  // namespace pillarbox::memory
