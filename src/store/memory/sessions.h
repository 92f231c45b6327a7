// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/store.h"
#include "store/memory/outbox.h"
#include "store/memory/work.h"

// The public interfaces over one Outbox. There is no connection, so nothing can break.
namespace pillarbox::memory {

class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<Outbox> outbox, std::string claimed_by, bool keep_dispatched);

  [[nodiscard]] ClaimResult claim(const ClaimRequest& request) override;
  [[nodiscard]] std::vector<Lease> renew(std::span<const Lease> leases, Millis extension) override;
  [[nodiscard]] std::vector<Lease> settle(std::span<const Settlement> settlements) override;

 private:
  const std::shared_ptr<Outbox> outbox_;
  const bool keep_dispatched_;
  Claimant claimant_;
};

class MemoryWakeSource final : public WakeSource {
 public:
  explicit MemoryWakeSource(std::shared_ptr<Outbox> outbox);

  [[nodiscard]] Armed arm() override;
  [[nodiscard]] bool wait(Instant until, std::stop_token stop) override;
  void disarm() override {}

 private:
  const std::shared_ptr<Outbox> outbox_;
  std::uint64_t heard_ = 0;  // commits that the caller knows of
};

class MemorySchema final : public Schema {
 public:
  [[nodiscard]] SchemaState state() override { return {1, 1, {}}; }
  [[nodiscard]] std::vector<MigrationStep> plan() override { return {}; }
  void up(const MigrateOptions& /*options*/,
          const std::function<void(const MigrationStep&)>& /*told*/) override {}
};

class MemoryAdmin final : public StoreAdmin {
 public:
  explicit MemoryAdmin(std::shared_ptr<Outbox> outbox);

  [[nodiscard]] Overview overview() override;
  [[nodiscard]] MessageList list(const Filter& filter, const Page& page) override;
  [[nodiscard]] std::optional<MessageDetail> show(RowId id, bool with_payload) override;
  [[nodiscard]] std::optional<RowId> find(MessageId message_id) override;
  [[nodiscard]] std::vector<DeadLetter> dead_letters(const Filter& filter,
                                                     const Page& page) override;
  [[nodiscard]] std::vector<DeadGroup> dead_groups() override;
  MessageId enqueue(const NewMessage& message) override;
  std::vector<MessageId> enqueue_all(std::span<const NewMessage> messages) override;
  [[nodiscard]] ActResult replay(std::span<const ActTarget> targets, std::string_view who,
                                 std::string_view why) override;
  [[nodiscard]] ActResult discard(std::span<const ActTarget> targets, std::string_view who,
                                  std::string_view why) override;
  [[nodiscard]] ActResult release(std::span<const ActTarget> targets, std::string_view who,
                                  std::string_view why) override;
  [[nodiscard]] std::vector<BrakeRow> brakes() override;
  std::int64_t brake(std::string_view scope, std::string_view who, std::string_view why) override;
  [[nodiscard]] std::int64_t claimed_in_scope(std::string_view scope) override;
  bool unbrake(std::string_view scope, std::string_view who) override;
  [[nodiscard]] std::int64_t purge(PurgeKind kind, Millis age, std::size_t batch) override;
  [[nodiscard]] std::vector<RelayRow> relays() override;
  bool heartbeat(const RelayRow& relay) override;
  void say_goodbye(std::string_view claimed_by) override;
  bool ask_to_drain(std::string_view claimed_by) override;
  [[nodiscard]] std::vector<Finding> examine() override;

 private:
  const std::shared_ptr<Outbox> outbox_;
};

}  // namespace pillarbox::memory
