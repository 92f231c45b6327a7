// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "pillarbox/store.h"
#include "postgresql/session.h"

namespace pillarbox::postgresql {

class PostgresqlAdmin final : public StoreAdmin {
 public:
  explicit PostgresqlAdmin(const StoreOptions& options);

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
  [[nodiscard]] std::vector<DeadLetter> dead_letters(const Filter& filter, const Page& page,
                                                     bool tombstones_too);
  ActResult act(std::string_view statement, std::span<const ActTarget> targets,
                std::string_view who, std::string_view why);
  Result ask(std::string_view statement, Parameters parameters = {});

  Session session_;
  std::int64_t purge_from_ = 0;
};

}  // namespace pillarbox::postgresql
