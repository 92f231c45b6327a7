// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pillarbox/store.h"
#include "store/sqlite/session.h"

namespace pillarbox::sqlite {

class SqliteStore final : public Store {
 public:
  SqliteStore(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer);

  [[nodiscard]] ClaimResult claim(const ClaimRequest& request) override;
  [[nodiscard]] std::vector<Lease> renew(std::span<const Lease> leases, Millis extension) override;
  [[nodiscard]] std::vector<Lease> settle(std::span<const Settlement> settlements) override;

 private:
  struct Position {  // in (available_at, id)
    std::int64_t available_at = INT64_MIN;
    std::int64_t id = 0;
  };
  struct Candidate {
    std::int64_t id = 0;
    std::int64_t available_at = 0;
    std::int64_t payload_bytes = 0;
  };
  struct Head {
    Candidate candidate;
    std::string ordering_key;
  };
  struct Found {
    std::vector<Candidate> unkeyed;
    std::vector<Head> heads;   // of keys, in the order of their visit
    std::string keys_seen_to;  // the last key that was visited
    bool more = false;

    [[nodiscard]] bool nothing() const { return unkeyed.empty() && heads.empty(); }
  };

  Found find(Connection& db, const ClaimRequest& request, std::int64_t now);
  void find_lost(Connection& db, const ClaimRequest& request, std::int64_t now, Found& found);
  void find_pending(Connection& db, const ClaimRequest& request, std::int64_t now, Found& found);
  void find_keys(Connection& db, const ClaimRequest& request, std::int64_t now, Found& found);
  std::vector<Candidate> choose(const ClaimRequest& request, Found& found);
  ClaimedMessage take(Connection& db, const Candidate& candidate, std::int64_t now, Millis lease);
  bool settle_one(Connection& db, const Settlement& settlement, std::int64_t now);

  const std::string claimed_by_;
  const bool keep_dispatched_;
  Session session_;

  // What a claim leaves alone: of the running call.
  bool filtered_ = false;
  std::string excluded_;

  // Rows before it were excluded or braked when they were looked at, under `skipped_for_`. Only a
  // claim that met very many of them moves it, and it stays a second behind the clock: what becomes
  // due later lies behind it.
  Position position_;
  std::string skipped_for_;

  std::string key_after_;        // keys are visited round and round
  bool keys_first_ = false;      // whose turn it is: messages with and without a key alternate
  int rounds_without_find_ = 0;  // since a key had something to give
  bool idle_ = false;            // the last claim found nothing: look before taking the write lock
};

}  // namespace pillarbox::sqlite
