// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pillarbox/store.h"
#include "postgresql/session.h"

namespace pillarbox::postgresql {

// LISTEN, and the lock that tells producers that somebody sleeps (docs/decisions/0014). Deaf
// without a direct connection.
class PostgresqlWakeSource final : public WakeSource {
 public:
  explicit PostgresqlWakeSource(const StoreOptions& options);

  [[nodiscard]] Armed arm() override;
  [[nodiscard]] bool wait(Instant until, std::stop_token stop) override;
  void disarm() override;

 private:
  [[nodiscard]] bool take_notifications();
  bool ask(const char* statement_name);

  Session session_;
  bool deaf_;
  bool listening_ = false;
  bool holds_lock_ = false;
};

}  // namespace pillarbox::postgresql
