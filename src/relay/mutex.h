// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

// Clang's thread-safety analysis proves that guarded members are touched under their mutex only.
#if defined(__clang__)
#define PILLARBOX_TS(x) __attribute__((x))
#else
#define PILLARBOX_TS(x)
#endif
#define PILLARBOX_GUARDED_BY(m) PILLARBOX_TS(guarded_by(m))
#define PILLARBOX_REQUIRES(m) PILLARBOX_TS(requires_capability(m))

namespace pillarbox::relay {

class PILLARBOX_TS(capability("mutex")) Mutex {
 public:
  void lock() PILLARBOX_TS(acquire_capability()) { mutex_.lock(); }
  void unlock() PILLARBOX_TS(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PILLARBOX_TS(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PILLARBOX_TS(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~Lock() PILLARBOX_TS(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits with the mutex held around the predicate, as std::condition_variable does.
class Condition {
 public:
  template <class Instant>
  void wait_until(Mutex& mutex, Instant until) PILLARBOX_REQUIRES(mutex) {
    condition_.wait_until(mutex, until);
  }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace pillarbox::relay
