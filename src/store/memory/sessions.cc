// SPDX-License-Identifier: Apache-2.0
#include "store/memory/sessions.h"

#include "store/memory/acts.h"
#include "store/memory/look.h"
#include "store/memory/producer.h"

namespace pillarbox::memory {

MemoryStore::MemoryStore(std::shared_ptr<Outbox> outbox, std::string claimed_by,
                         bool keep_dispatched)
    : outbox_(std::move(outbox)), keep_dispatched_(keep_dispatched) {
  claimant_.claimed_by = std::move(claimed_by);
}

ClaimResult MemoryStore::claim(const ClaimRequest& request) {
  return outbox_->transact(
      [&](Tables& tables, DbTime now) { return memory::claim(tables, claimant_, request, now); });
}

std::vector<Lease> MemoryStore::renew(std::span<const Lease> leases, Millis extension) {
  return outbox_->transact([&](Tables& tables, DbTime now) {
    return memory::renew(tables, claimant_.claimed_by, leases, extension, now);
  });
}

std::vector<Lease> MemoryStore::settle(std::span<const Settlement> settlements) {
  return outbox_->transact([&](Tables& tables, DbTime now) {
    return memory::settle(tables, claimant_.claimed_by, settlements, keep_dispatched_, now);
  });
}

MemoryWakeSource::MemoryWakeSource(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}

WakeSource::Armed MemoryWakeSource::arm() {
  const std::lock_guard lock(outbox_->mutex_);
  heard_ = outbox_->commits_;
  return Armed::exact;
}

bool MemoryWakeSource::wait(Instant until, std::stop_token stop) {
  std::unique_lock lock(outbox_->mutex_);
  return outbox_->changed_.wait_until(lock, stop, until,
                                      [&] { return outbox_->commits_ != heard_; });
}

MemoryAdmin::MemoryAdmin(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}

Overview MemoryAdmin::overview() {
  return outbox_->transact(
      [](const Tables& tables, DbTime now) { return memory::overview(tables, now); });
}

MessageList MemoryAdmin::list(const Filter& filter, const Page& page) {
  return outbox_->transact(
      [&](const Tables& tables, DbTime now) { return memory::list(tables, filter, page, now); });
}

std::optional<MessageDetail> MemoryAdmin::show(RowId id, bool with_payload) {
  return outbox_->transact([&](const Tables& tables, DbTime now) {
    return memory::show(tables, id, with_payload, now);
  });
}

std::optional<RowId> MemoryAdmin::find(MessageId message_id) {
  return outbox_->transact([&](const Tables& tables, DbTime) -> std::optional<RowId> {
    const Row* row = tables.find(message_id);
    return row == nullptr ? std::nullopt : std::optional(RowId{row->id});
  });
}

std::vector<DeadLetter> MemoryAdmin::dead_letters(const Filter& filter, const Page& page) {
  return outbox_->transact(
      [&](const Tables& tables, DbTime) { return memory::dead_letters(tables, filter, page); });
}

std::vector<DeadGroup> MemoryAdmin::dead_groups() {
  return outbox_->transact(
      [](const Tables& tables, DbTime) { return memory::dead_groups(tables); });
}

MessageId MemoryAdmin::enqueue(const NewMessage& message) {
  return Producer(outbox_).enqueue(message);
}

std::vector<MessageId> MemoryAdmin::enqueue_all(std::span<const NewMessage> messages) {
  Producer producer(outbox_);  // rolls back when it goes
  producer.begin();
  std::vector<MessageId> ids;
  ids.reserve(messages.size());
  for (const NewMessage& message : messages) ids.push_back(producer.enqueue(message));
  producer.commit();
  return ids;
}

ActResult MemoryAdmin::replay(std::span<const ActTarget> targets, std::string_view who,
                              std::string_view why) {
  return outbox_->transact_and_wake([&](Tables& tables, DbTime now) {
    return memory::replay(tables, {targets, who, why}, now);
  });
}

ActResult MemoryAdmin::discard(std::span<const ActTarget> targets, std::string_view who,
                               std::string_view why) {
  return outbox_->transact_and_wake([&](Tables& tables, DbTime now) {
    return memory::discard(tables, {targets, who, why}, now);
  });
}

ActResult MemoryAdmin::release(std::span<const ActTarget> targets, std::string_view who,
                               std::string_view why) {
  return outbox_->transact_and_wake([&](Tables& tables, DbTime now) {
    return memory::release(tables, {targets, who, why}, now);
  });
}

std::vector<BrakeRow> MemoryAdmin::brakes() {
  return outbox_->transact([](const Tables& tables, DbTime) {
    std::vector<BrakeRow> out;
    for (const auto& [scope, brake] : tables.brakes) out.push_back(brake);
    return out;
  });
}

std::int64_t MemoryAdmin::brake(std::string_view scope, std::string_view who,
                                std::string_view why) {
  return outbox_->transact(
      [&](Tables& tables, DbTime now) { return memory::brake(tables, scope, who, why, now); });
}

std::int64_t MemoryAdmin::claimed_in_scope(std::string_view scope) {
  return outbox_->transact([&](const Tables& tables, DbTime now) {
    return memory::claimed_in_scope(tables, scope, now);
  });
}

bool MemoryAdmin::unbrake(std::string_view scope, std::string_view who) {
  return outbox_->transact_and_wake(
      [&](Tables& tables, DbTime now) { return memory::unbrake(tables, scope, who, now); });
}

std::int64_t MemoryAdmin::purge(PurgeKind kind, Millis age, std::size_t batch) {
  return outbox_->transact(
      [&](Tables& tables, DbTime now) { return memory::purge(tables, kind, age, batch, now); });
}

std::vector<RelayRow> MemoryAdmin::relays() {
  return outbox_->transact([](const Tables& tables, DbTime) {
    std::vector<RelayRow> out;
    for (const auto& [claimed_by, relay] : tables.relays) out.push_back(relay.row);
    return out;
  });
}

bool MemoryAdmin::heartbeat(const RelayRow& relay) {
  return outbox_->transact(
      [&](Tables& tables, DbTime now) { return memory::heartbeat(tables, relay, now); });
}

void MemoryAdmin::say_goodbye(std::string_view claimed_by) {
  outbox_->transact([&](Tables& tables, DbTime) { tables.relays.erase(std::string(claimed_by)); });
}

bool MemoryAdmin::ask_to_drain(std::string_view claimed_by) {
  return outbox_->transact([&](Tables& tables, DbTime) {
    const auto it = tables.relays.find(std::string(claimed_by));
    if (it == tables.relays.end()) return false;
    it->second.drain_asked = true;
    return true;
  });
}

std::vector<Finding> MemoryAdmin::examine() {
  return {{Finding::Level::warn, "durability",
           "this outbox is in the memory of one process and is gone with it",
           "use a store on disk for anything but tests"}};
}

}  // namespace pillarbox::memory
