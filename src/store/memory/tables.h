// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pillarbox/store.h"

namespace pillarbox::memory {

using Id = std::int64_t;

[[nodiscard]] constexpr DbTime later(DbTime time, Millis by) {
  return DbTime{to_int(time) + std::chrono::microseconds(by).count()};
}
[[nodiscard]] constexpr DbTime earlier(DbTime time, Millis by) { return later(time, -by); }

// One row of the outbox; the columns of design.md. A row that is edited by hand so that a database
// could not read it back is modelled by `defect`.
struct Row {
  Id id = 0;
  MessageId message_id;
  std::string job_type;
  std::string payload;
  std::string content_type;
  Headers headers;
  std::string correlation_id;
  std::string ordering_key;
  Status status = Status::pending;
  DbTime occurred_at{};
  DbTime available_at{};
  std::optional<DbTime> expires_at;
  std::string claimed_by;
  std::optional<DbTime> locked_until;
  std::int64_t claim_no = 0;
  std::int32_t attempts = 0;
  std::int32_t life = 0;
  std::optional<DbTime> dispatched_at;
  std::string last_error;
  std::string defect;

  [[nodiscard]] bool live() const { return status == Status::pending || status == Status::claimed; }
  [[nodiscard]] bool leased(DbTime now) const {
    return status == Status::claimed && locked_until && *locked_until > now;
  }
};

struct RelayEntry {
  RelayRow row;
  bool drain_asked = false;
};

struct AuditEntry {
  DbTime at{};
  std::string who;
  std::string action;
  std::string what;
  std::string why;
};

using DeadLetterKey = std::pair<Id, std::int32_t>;   // id, life
using InboxKey = std::pair<std::string, MessageId>;  // consumer, message_id
using Position = std::pair<DbTime, Id>;              // where a row stands in an index by time

// The committed content of an outbox, with the indexes that a claim walks. Plain data: no lock, no
// clock. Rows and dead letters change through change() and put()/erase() only, which keep the
// indexes right.
class Tables {
 public:
  // ---- outbox
  [[nodiscard]] const std::map<Id, Row>& outbox() const { return outbox_; }
  [[nodiscard]] const Row* find(Id id) const;
  [[nodiscard]] const Row* find(MessageId message_id) const;
  void put(Row row);
  void erase(Id id);  // with its history
  template <class Change>
  void change(Id id, const Change& apply) {
    Row& row = outbox_.at(id);
    unindex(row);
    apply(row);
    index(row);
  }

  // ---- dead letters
  [[nodiscard]] const std::map<DeadLetterKey, DeadLetter>& dead_letters() const {
    return dead_letters_;
  }
  void put(DeadLetter letter);
  void erase(DeadLetterKey key);

  // ---- indexes
  struct Key {
    std::set<Id> live;     // the smallest is the key's head
    std::set<Id> claimed;  // one, but after a replay put an earlier message before a claimed one
  };
  [[nodiscard]] const std::set<Position>& pending() const { return pending_; }  // without a key
  [[nodiscard]] const std::set<Position>& leases() const { return leases_; }    // without a key
  [[nodiscard]] const std::set<Position>& dispatched() const { return dispatched_; }
  [[nodiscard]] const std::map<std::string, Key>& keys() const { return keys_; }
  // Whether an earlier message of the key is a dead letter that holds it.
  [[nodiscard]] bool held_by_dead(const std::string& key, Id id) const;
  [[nodiscard]] bool key_is_leased(const std::string& key, DbTime now) const;

  // ---- what needs no index
  Id next_id = 1;
  std::map<Id, std::vector<AttemptRow>> attempts;
  std::map<InboxKey, DbTime> inbox;
  std::map<std::string, BrakeRow> brakes;
  std::map<std::string, RelayEntry> relays;
  std::vector<AuditEntry> audit;

 private:
  void index(const Row& row);
  void unindex(const Row& row);

  std::map<Id, Row> outbox_;
  std::map<DeadLetterKey, DeadLetter> dead_letters_;
  std::map<MessageId, Id> by_message_id_;
  std::set<Position> pending_;
  std::set<Position> leases_;
  std::set<Position> dispatched_;
  std::map<std::string, Key> keys_;
  std::map<std::string, std::set<DeadLetterKey>> holders_;
};

}  // namespace pillarbox::memory
