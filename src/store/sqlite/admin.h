// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/store.h"
#include "store/sqlite/session.h"

namespace pillarbox::sqlite {

class SqliteAdmin final : public StoreAdmin {
 public:
  SqliteAdmin(const StoreOptions& options, std::shared_ptr<Checkpointer> checkpointer);

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
  // One transaction that reads, or writes; committed when `work(connection, now)` returns.
  template <class Work>
  auto reading(Work&& work);
  template <class Work>
  auto writing(Work&& work);
  // `one(connection, target, now)` says whether the target was as it must be.
  template <class One>
  ActResult act(std::span<const ActTarget> targets, std::string_view action, std::string_view who,
                std::string_view why, One&& one);

  Session session_;
};

}  // namespace pillarbox::sqlite
