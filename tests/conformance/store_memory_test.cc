// SPDX-License-Identifier: Apache-2.0
// The suites for stores, run for the store in memory.
#include <atomic>
#include <charconv>

#include "json/json.h"
#include "store/memory/factory.h"
#include "store/memory/producer.h"
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

using memory::Row;
using memory::Tables;

class MemoryProducer final : public ProducerSession {
 public:
  explicit MemoryProducer(std::shared_ptr<memory::Outbox> outbox) : producer_(std::move(outbox)) {}
  void begin() override { producer_.begin(); }
  MessageId enqueue(const NewMessage& message) override { return producer_.enqueue(message); }
  void savepoint(std::string_view name) override { producer_.savepoint(name); }
  void rollback_to(std::string_view name) override { producer_.rollback_to(name); }
  void commit() override { producer_.commit(); }
  void rollback() override { producer_.rollback(); }
  bool once(std::string_view consumer, MessageId message_id) override {
    return producer_.once(consumer, message_id);
  }

 private:
  memory::Producer producer_;
};

void set_back(DbTime& time, Millis by) { time = memory::earlier(time, by); }
void set_back(std::optional<DbTime>& time, Millis by) {
  if (time) set_back(*time, by);
}

class MemoryFixture final : public StoreFixture {
 public:
  MemoryFixture() : factory_(memory::make_factory()) {
    static std::atomic<int> number{0};
    url_ = "memory:conformance-" + std::to_string(++number);
    outbox_ = memory::Outbox::open(memory::outbox_name(options()));
  }
  Capabilities capabilities() const override { return factory_->capabilities(); }
  const StoreFactory& factory() const override { return *factory_; }
  StoreOptions options() const override { return {.url = url_}; }
  std::unique_ptr<ProducerSession> producer() override {
    return std::make_unique<MemoryProducer>(outbox_);
  }

  void age(RowId id, Millis by) override {
    outbox_->transact([&](Tables& tables, DbTime) {
      tables.change(to_int(id), [&](Row& row) {
        set_back(row.occurred_at, by);
        set_back(row.available_at, by);
        set_back(row.expires_at, by);
        set_back(row.locked_until, by);
        set_back(row.dispatched_at, by);
      });
      const Row& row = *tables.find(to_int(id));
      const auto letter = tables.dead_letters().find({row.id, row.life});
      if (letter == tables.dead_letters().end()) return;
      DeadLetter aged = letter->second;
      set_back(aged.dead_at, by);
      tables.put(std::move(aged));
    });
  }

  bool tamper(RowId id, std::string_view column, std::string_view sql_value) override {
    if (column == "headers") {
      // The row's headers are a value here; what no database could read back is its defect.
      const std::string_view text = sql_value.substr(1, sql_value.size() - 2);
      if (json::parse_headers(text)) return false;
      return change(id, [](Row& row) { row.defect = "its headers are not an object of strings"; });
    }
    std::int64_t value = 0;
    const char* const end = sql_value.data() + sql_value.size();
    if (std::from_chars(sql_value.data(), end, value).ptr != end) return false;
    if (column == "attempts")
      return change(id, [&](Row& row) { row.attempts = static_cast<std::int32_t>(value); });
    if (column == "claim_no") return change(id, [&](Row& row) { row.claim_no = value; });
    if (column == "id") {
      outbox_->transact([&](Tables& tables, DbTime) {
        Row row = *tables.find(to_int(id));
        tables.erase(row.id);
        row.id = value;
        tables.put(std::move(row));
      });
      return true;
    }
    return false;
  }

  bool break_connections() override { return false; }  // there are none

 private:
  template <class Change>
  bool change(RowId id, const Change& apply) {
    outbox_->transact([&](Tables& tables, DbTime) { tables.change(to_int(id), apply); });
    return true;
  }

  std::shared_ptr<const StoreFactory> factory_;
  std::string url_;
  std::shared_ptr<memory::Outbox> outbox_;
};

}  // namespace

PILLARBOX_RUN_STORE_SUITES(Memory,
                           ::testing::Values(StoreParam{
                               "memory", [] { return std::make_unique<MemoryFixture>(); }}));

}  // namespace pillarbox::testing
