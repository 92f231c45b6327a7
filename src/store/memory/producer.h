// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "store/memory/outbox.h"

namespace pillarbox::memory {

// A producer's session: enqueue and inbox, with transactions as a database gives them. Ids are
// drawn at enqueue, rows are seen at commit. Until its transaction ends it holds a lock on each
// ordering_key, message_id and inbox entry that it has written; others that want the same wait.
// Used by one thread at a time; an open transaction is rolled back at the end.
class Producer {
 public:
  // Waits at most `lock_wait` for another producer's transaction, then Error(conflict, PBX-4003);
  // zero never waits, so that one thread can drive many producers.
  explicit Producer(std::shared_ptr<Outbox> outbox, Millis lock_wait = Millis{10'000});
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void begin();
  void savepoint(std::string_view name);
  void rollback_to(std::string_view name);  // the savepoint stays, as in SQL
  void commit();
  void rollback();

  // Outside begin() each call commits by itself. An Error leaves the transaction as it was.
  MessageId enqueue(const NewMessage& message);
  [[nodiscard]] bool once(std::string_view consumer, MessageId message_id);

 private:
  struct Savepoint {
    std::string name;
    std::size_t rows = 0;
    std::size_t handled = 0;
    std::size_t held = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void acquire(Lock& lock, const std::string& name);
  [[nodiscard]] bool would_deadlock(const std::string& name) const;
  void release_from(std::size_t first);
  void finish(bool commit);

  const std::shared_ptr<Outbox> outbox_;
  const Millis lock_wait_;
  bool open_ = false;
  std::vector<Row> rows_;
  std::vector<InboxKey> handled_;
  std::vector<Savepoint> savepoints_;
  // Guarded by the outbox's mutex_:
  std::vector<std::string> held_;
  std::string waits_for_;
};

}  // namespace pillarbox::memory
