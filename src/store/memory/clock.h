// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "pillarbox/message.h"

namespace pillarbox::memory {

// The database's clock of an outbox in memory; a simulator brings its own.
class DbClock {
 public:
  virtual ~DbClock() = default;
  [[nodiscard]] virtual DbTime now() = 0;  // called with the outbox's mutex held
};

class SystemDbClock final : public DbClock {
 public:
  [[nodiscard]] DbTime now() override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return DbTime{std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
  }
};

}  // namespace pillarbox::memory
