// SPDX-License-Identifier: Apache-2.0
// The suites for stores, run for SQLite: a file of its own for each test.
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "pillarbox/sqlite.h"
#include "store/sqlite/factory.h"
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

// An application's own connection.
class Application {
 public:
  explicit Application(const std::string& path) {
    if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK)
      throw std::runtime_error("cannot open " + path);
    sqlite3_busy_timeout(connection_, 10'000);
    (*this)("pragma synchronous = off");
  }
  ~Application() { sqlite3_close(connection_); }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void operator()(const std::string& sql) {
    char* error = nullptr;
    if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
    const std::string text = sql + ": " + (error == nullptr ? "?" : error);
    sqlite3_free(error);
    throw std::runtime_error(text);
  }
  [[nodiscard]] sqlite3* raw() const { return connection_; }

 private:
  sqlite3* connection_ = nullptr;
};

class SqliteProducer final : public ProducerSession {
 public:
  explicit SqliteProducer(const std::string& path) : application_(path) {}
  void begin() override { application_("begin"); }
  MessageId enqueue(const NewMessage& message) override {
    return sqlite::enqueue(application_.raw(), message);
  }
  void savepoint(std::string_view name) override { application_("savepoint " + std::string(name)); }
  void rollback_to(std::string_view name) override {
    application_("rollback to " + std::string(name));
  }
  void commit() override { application_("commit"); }
  void rollback() override { application_("rollback"); }
  bool once(std::string_view consumer, MessageId message_id) override {
    return sqlite::once(application_.raw(), consumer, message_id);
  }

 private:
  Application application_;
};

class SqliteFixture final : public StoreFixture {
 public:
  explicit SqliteFixture(std::string parameters) : parameters_(std::move(parameters)) {
    std::string name = (std::filesystem::temp_directory_path() / "pillarbox-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    directory_ = name;
    factory().schema(options())->up({}, {});
    owner_ = std::make_unique<Application>(path());
  }
  ~SqliteFixture() override {
    owner_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] Capabilities capabilities() const override { return factory().capabilities(); }
  [[nodiscard]] const StoreFactory& factory() const override {
    static const std::shared_ptr<const StoreFactory> kFactory = sqlite::make_factory();
    return *kFactory;
  }
  [[nodiscard]] StoreOptions options() const override {
    return {.url = "sqlite:" + path() + parameters_};
  }
  [[nodiscard]] std::unique_ptr<ProducerSession> producer() override {
    return std::make_unique<SqliteProducer>(path());
  }

  void age(RowId id, Millis by) override {
    const std::string back = " - " + std::to_string(by.count());
    const std::string row = std::to_string(to_int(id));
    (*owner_)("update pillarbox_outbox set occurred_at = occurred_at" + back +
              ", available_at = available_at" + back + ", expires_at = expires_at" + back +
              ", locked_until = locked_until" + back + ", dispatched_at = dispatched_at" + back +
              " where id = " + row + "; update pillarbox_dead_letter set dead_at = dead_at" + back +
              ", discarded_at = discarded_at" + back + " where outbox_id = " + row);
  }

  bool tamper(RowId id, std::string_view column, std::string_view sql_value) override {
    try {
      // The owner can switch the constraints off, and the suite wants to know what follows.
      (*owner_)("pragma ignore_check_constraints = on; update pillarbox_outbox set " +
                std::string(column) + " = " + std::string(sql_value) +
                " where id = " + std::to_string(to_int(id)));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  bool break_connections() override { return false; }  // a file has none

 private:
  [[nodiscard]] std::string path() const { return (directory_ / "app.db").string(); }

  const std::string parameters_;
  std::filesystem::path directory_;
  std::unique_ptr<Application> owner_;
};

}  // namespace

PILLARBOX_RUN_STORE_SUITES(
    SQLite,
    ::testing::Values(StoreParam{"file", [] { return std::make_unique<SqliteFixture>(""); }},
                      StoreParam{"synced", [] {
                                   return std::make_unique<SqliteFixture>("?synchronous=full");
                                 }}));

}  // namespace pillarbox::testing
