// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/store.h"
#include "store/memory/tables.h"

// What a relay does to an outbox, as functions of its tables and the database's time. The caller
// holds the outbox's lock, so each call is one transaction.
namespace pillarbox::memory {

struct Claimant {
  std::string claimed_by;
  std::string key_after;    // keys are visited round and round
  bool keys_first = false;  // whose turn it is when there is room for one
};

[[nodiscard]] ClaimResult claim(Tables& tables, Claimant& claimant, const ClaimRequest& request,
                                DbTime now);
[[nodiscard]] std::vector<Lease> renew(Tables& tables, std::string_view claimed_by,
                                       std::span<const Lease> leases, Millis extension, DbTime now);
[[nodiscard]] std::vector<Lease> settle(Tables& tables, std::string_view claimed_by,
                                        std::span<const Settlement> settlements,
                                        bool keep_dispatched, DbTime now);

[[nodiscard]] bool is_braked(const Tables& tables, std::string_view job_type);

}  // namespace pillarbox::memory
