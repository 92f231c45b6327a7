// SPDX-License-Identifier: Apache-2.0
#include "store/memory/producer.h"

#include <algorithm>

#include "core/assert.h"
#include "core/utf8.h"
#include "pillarbox/error.h"

namespace pillarbox::memory {
namespace {

constexpr std::size_t kConsumerChars = 100;

void check_consumer(std::string_view consumer) {
  const auto length = core::utf8_length(consumer);
  if (length && *length >= 1 && *length <= kConsumerChars &&
      consumer.find('\0') == std::string_view::npos)
    return;
  throw Error(ErrorKind::invalid_input, "PBX-1010",
              "the consumer's name must be 1 to 100 characters of UTF-8");
}

}  // namespace

Producer::Producer(std::shared_ptr<Outbox> outbox, Millis lock_wait)
    : outbox_(std::move(outbox)), lock_wait_(lock_wait) {}

Producer::~Producer() {
  if (open_) finish(false);
}

void Producer::begin() {
  PILLARBOX_ASSERT(!open_);
  open_ = true;
}

void Producer::savepoint(std::string_view name) {
  PILLARBOX_ASSERT(open_);
  savepoints_.push_back({std::string(name), rows_.size(), handled_.size(), held_.size()});
}

void Producer::rollback_to(std::string_view name) {
  const auto it = std::find_if(savepoints_.rbegin(), savepoints_.rend(),
                               [&](const Savepoint& savepoint) { return savepoint.name == name; });
  PILLARBOX_ASSERT(it != savepoints_.rend());
  rows_.resize(it->rows);
  handled_.resize(it->handled);
  const std::size_t held = it->held;
  savepoints_.erase(it.base(), savepoints_.end());
  const Lock lock(outbox_->mutex_);
  release_from(held);
}

void Producer::commit() {
  PILLARBOX_ASSERT(open_);
  finish(true);
}

void Producer::rollback() {
  PILLARBOX_ASSERT(open_);
  finish(false);
}

void Producer::finish(bool commit) {
  const Lock lock(outbox_->mutex_);
  if (commit) {
    const DbTime now = outbox_->clock_->now();
    for (Row& row : rows_) outbox_->tables_.put(std::move(row));
    for (InboxKey& key : handled_) outbox_->tables_.inbox.emplace(std::move(key), now);
    ++outbox_->commits_;
  }
  rows_.clear();
  handled_.clear();
  savepoints_.clear();
  open_ = false;
  release_from(0);
}

MessageId Producer::enqueue(const NewMessage& message) {
  validate(message);
  const bool alone = !open_;
  Row row;
  row.message_id = message.message_id ? *message.message_id : MessageId::make();
  row.job_type = message.job_type;
  row.payload = message.payload;
  row.content_type = message.content_type;
  row.headers = message.headers;
  row.correlation_id = message.correlation_id;
  row.ordering_key = message.ordering_key;
  const MessageId message_id = row.message_id;
  {
    Lock lock(outbox_->mutex_);
    const std::size_t held_before = held_.size();
    try {
      if (!row.ordering_key.empty()) acquire(lock, "key " + row.ordering_key);
      acquire(lock, "message " + message_id.to_string());
    } catch (const Error&) {
      release_from(held_before);
      throw;
    }
    const bool is_mine = std::any_of(rows_.begin(), rows_.end(), [&](const Row& other) {
      return other.message_id == message_id;
    });
    if (!is_mine && outbox_->tables_.find(message_id) == nullptr) {
      const DbTime now = outbox_->clock_->now();
      row.id = outbox_->tables_.next_id++;
      row.occurred_at = now;
      row.available_at = later(now, message.delay);
      if (message.expires_in) row.expires_at = later(now, *message.expires_in);
      rows_.push_back(std::move(row));
    }
  }
  if (alone) finish(true);
  return message_id;
}

bool Producer::once(std::string_view consumer, MessageId message_id) {
  check_consumer(consumer);
  const bool alone = !open_;
  const InboxKey key{std::string(consumer), message_id};
  bool first = false;
  {
    Lock lock(outbox_->mutex_);
    acquire(lock, "inbox " + message_id.to_string() + " " + key.first);
    first = std::find(handled_.begin(), handled_.end(), key) == handled_.end() &&
            outbox_->tables_.inbox.find(key) == outbox_->tables_.inbox.end();
    if (first) handled_.push_back(key);
  }
  if (alone) finish(true);
  return first;
}

// Follows who waits for whom; a chain that comes back to us would never end.
bool Producer::would_deadlock(const std::string& name) const {
  const Producer* owner = outbox_->locks_.at(name);
  while (owner != this) {
    if (owner->waits_for_.empty()) return false;
    const auto next = outbox_->locks_.find(owner->waits_for_);
    if (next == outbox_->locks_.end()) return false;
    owner = next->second;
  }
  return true;
}

void Producer::acquire(Lock& lock, const std::string& name) {
  const auto deadline = std::chrono::steady_clock::now() + lock_wait_;
  const auto is_taken = [&] {
    const auto it = outbox_->locks_.find(name);
    return it != outbox_->locks_.end() && it->second != this;
  };
  while (is_taken()) {
    const bool deadlock = would_deadlock(name);
    waits_for_ = name;
    const bool late =
        !deadlock && outbox_->changed_.wait_until(lock, deadline) == std::cv_status::timeout;
    waits_for_.clear();
    if (deadlock || (late && is_taken())) {
      throw Error(ErrorKind::conflict, "PBX-4003",
                  deadlock ? "two producers wait for each other; roll back and repeat"
                           : "another producer's transaction holds the same ordering_key, "
                             "message_id or inbox entry; repeat when it has ended");
    }
  }
  if (outbox_->locks_.emplace(name, this).second) held_.push_back(name);
}

void Producer::release_from(std::size_t first) {
  for (std::size_t i = first; i < held_.size(); ++i) outbox_->locks_.erase(held_[i]);
  held_.resize(first);
  outbox_->changed_.notify_all();
}

}  // namespace pillarbox::memory
