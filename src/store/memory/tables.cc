// SPDX-License-Identifier: Apache-2.0
#include "store/memory/tables.h"

#include <algorithm>

#include "core/assert.h"

namespace pillarbox::memory {

const Row* Tables::find(Id id) const {
  const auto it = outbox_.find(id);
  return it == outbox_.end() ? nullptr : &it->second;
}

const Row* Tables::find(MessageId message_id) const {
  const auto it = by_message_id_.find(message_id);
  return it == by_message_id_.end() ? nullptr : find(it->second);
}

void Tables::put(Row row) {
  PILLARBOX_ASSERT(find(row.id) == nullptr && find(row.message_id) == nullptr);
  const auto it = outbox_.emplace(row.id, std::move(row)).first;
  index(it->second);
}

void Tables::erase(Id id) {
  const auto it = outbox_.find(id);
  PILLARBOX_ASSERT(it != outbox_.end());
  unindex(it->second);
  outbox_.erase(it);
  attempts.erase(id);
}

void Tables::put(DeadLetter letter) {
  const DeadLetterKey key{to_int(letter.id), letter.life};
  erase(key);
  if (letter.holds_key) holders_[letter.ordering_key].insert(key);
  dead_letters_.emplace(key, std::move(letter));
}

void Tables::erase(DeadLetterKey key) {
  const auto it = dead_letters_.find(key);
  if (it == dead_letters_.end()) return;
  if (it->second.holds_key) {
    const auto holders = holders_.find(it->second.ordering_key);
    holders->second.erase(key);
    if (holders->second.empty()) holders_.erase(holders);
  }
  dead_letters_.erase(it);
}

bool Tables::held_by_dead(const std::string& key, Id id) const {
  const auto holders = holders_.find(key);
  return holders != holders_.end() && holders->second.begin()->first < id;
}

bool Tables::key_is_leased(const std::string& key, DbTime now) const {
  const auto it = keys_.find(key);
  return it != keys_.end() && std::any_of(it->second.claimed.begin(), it->second.claimed.end(),
                                          [&](Id id) { return outbox_.at(id).leased(now); });
}

void Tables::index(const Row& row) {
  by_message_id_.emplace(row.message_id, row.id);
  if (row.status == Status::dispatched)
    dispatched_.emplace(row.dispatched_at.value_or(DbTime{}), row.id);
  if (!row.live()) return;
  if (!row.ordering_key.empty()) {
    Key& key = keys_[row.ordering_key];
    key.live.insert(row.id);
    if (row.status == Status::claimed) key.claimed.insert(row.id);
  } else if (row.status == Status::pending) {
    pending_.emplace(row.available_at, row.id);
  } else {
    leases_.emplace(row.locked_until.value_or(DbTime{}), row.id);
  }
}

void Tables::unindex(const Row& row) {
  by_message_id_.erase(row.message_id);
  if (row.status == Status::dispatched)
    dispatched_.erase({row.dispatched_at.value_or(DbTime{}), row.id});
  if (!row.live()) return;
  if (!row.ordering_key.empty()) {
    const auto it = keys_.find(row.ordering_key);
    it->second.live.erase(row.id);
    it->second.claimed.erase(row.id);
    if (it->second.live.empty()) keys_.erase(it);
  } else if (row.status == Status::pending) {
    pending_.erase({row.available_at, row.id});
  } else {
    leases_.erase({row.locked_until.value_or(DbTime{}), row.id});
  }
}

}  // namespace pillarbox::memory
