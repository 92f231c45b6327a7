// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pillarbox/sink.h"
#include "postgresql/session.h"
#include "sink/hangfire/job_map.h"

namespace pillarbox::hangfire {

struct StorageSettings {
  std::string sink;  // as the ledger names it
  postgresql::Location location;
  std::string storage_schema;
  bool notifies = true;
  std::shared_ptr<const Secret> password = {};
};

// Throws Error(invalid_input, PBX-5002 or PBX-5003).
[[nodiscard]] StorageSettings read_storage(const SinkSettings& settings);

class HangfireSink final : public Sink {
 public:
  HangfireSink(StorageSettings storage, JobMap map);

  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override;

  // A sentence about the storage. Throws Error.
  [[nodiscard]] std::string probe(Instant deadline);

 private:
  struct Item {
    const ClaimedMessage* message;
    Outcome* outcome;
    Job job;
  };
  void hand_over(std::span<Item> items, const DeliveryLimits& limits, Instant began);
  void hand_over_once(std::span<Item> items);
  void make_ledger();
  [[nodiscard]] bool set_time_left(Instant deadline);

  StorageSettings storage_;
  JobMap map_;
  postgresql::Session session_;
  bool ledger_is_there_ = false;
};

}  // namespace pillarbox::hangfire
