// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pillarbox/store.h"
#include "postgresql/session.h"

namespace pillarbox::postgresql {

class PostgresqlStore final : public Store {
 public:
  explicit PostgresqlStore(const StoreOptions& options);

  [[nodiscard]] ClaimResult claim(const ClaimRequest& request) override;
  [[nodiscard]] std::vector<Lease> renew(std::span<const Lease> leases, Millis extension) override;
  [[nodiscard]] std::vector<Lease> settle(std::span<const Settlement> settlements) override;

 private:
  [[nodiscard]] std::vector<Lease> settle_mixed(std::span<const Lease> leases,
                                                std::span<const Settlement> settlements);

  struct Shares {
    std::size_t keyed = 0;
    std::size_t unkeyed = 0;
  };
  [[nodiscard]] Shares shares_of(std::size_t count_max) const noexcept;
  [[nodiscard]] Call unkeyed_call(const ClaimRequest& request, std::size_t count) const;
  [[nodiscard]] Call keyed_call(const ClaimRequest& request, std::size_t count) const;
  void take_unkeyed(const Result& result, const ClaimRequest& request, std::size_t count,
                    ClaimResult& out);
  void take_keyed(const Result& result, std::size_t count, ClaimResult& out);

  std::string claimed_by_;
  bool keep_dispatched_;
  Session session_;

  // Where unkeyed claims go on: a little behind the last row taken. A hint, never the truth: a
  // sweep ignores it.
  std::optional<DbTime> low_water_;
  std::string last_key_;      // where keyed claims go on
  bool keys_remain_ = false;  // the last look did not reach the last key
  std::size_t keyed_seen_ = 0;
  bool unkeyed_full_ = false;
  bool keyed_turn_ = true;
};

}  // namespace pillarbox::postgresql
