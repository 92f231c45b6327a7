// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/postgresql_fixture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "pillarbox/postgresql.h"
#include "sql/embedded.h"
#include "store/postgresql/factory.h"

namespace pillarbox::testing {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

// Sessions of earlier tests, for reuse: connecting is most of what a small test costs.
class Idle {
 public:
  static std::unique_ptr<Sql> take(const std::string& url) {
    auto& sessions = all()[url];
    if (sessions.empty()) return std::make_unique<Sql>(url + "?application_name=fixture");
    auto session = std::move(sessions.back());
    sessions.pop_back();
    return session;
  }
  static void give(const std::string& url, std::unique_ptr<Sql> session) {
    if (PQtransactionStatus(session->raw()) != PQTRANS_IDLE) (*session)("rollback");
    all()[url].push_back(std::move(session));
  }

 private:
  static std::map<std::string, std::vector<std::unique_ptr<Sql>>>& all() {
    thread_local std::map<std::string, std::vector<std::unique_ptr<Sql>>> sessions;
    return sessions;
  }
};

class Producer final : public ProducerSession {
 public:
  Producer(std::string url, std::string schema)
      : url_(std::move(url)),
        session_(Idle::take(url_)),
        sql_(*session_),
        schema_(std::move(schema)) {}
  ~Producer() override {
    try {
      Idle::give(url_, std::move(session_));
    } catch (const std::exception&) {  // broken by its test: not for reuse
    }
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  void begin() override { sql_("begin"); }
  MessageId enqueue(const NewMessage& message) override {
    return postgresql::enqueue(sql_.raw(), message, schema_);
  }
  void savepoint(std::string_view name) override { sql_("savepoint \"" + std::string(name) + '"'); }
  void rollback_to(std::string_view name) override {
    sql_("rollback to savepoint \"" + std::string(name) + '"');
  }
  void commit() override { sql_("commit"); }
  void rollback() override { sql_("rollback"); }
  bool once(std::string_view consumer, MessageId message_id) override {
    return postgresql::once(sql_.raw(), consumer, message_id, schema_);
  }

 private:
  std::string url_;
  std::unique_ptr<Sql> session_;
  Sql& sql_;
  std::string schema_;
};

// Outboxes of earlier tests, to be emptied: making a schema is most of what a small test costs.
std::map<std::string, std::vector<std::string>>& used_schemas() {
  static std::map<std::string, std::vector<std::string>> schemas;
  return schemas;
}

// Drops the databases of this process when it ends.
class Databases {
 public:
  ~Databases() {
    for (const auto& [database, server] : made_) {
      try {
        Sql{server}("drop database if exists " + database + " with (force)");
      } catch (const std::exception&) {  // a server that a test stopped has nothing to drop
      }
    }
  }
  std::string make(const PostgresqlServer& server, const std::string& name,
                   const std::string& default_isolation) {
    const std::string database = "pillarbox_" + std::to_string(::getpid()) + "_" + name;
    if (made_.emplace(std::pair(database, server.url)).second) {
      Sql sql(server.url);
      sql("create database " + database);
      if (!default_isolation.empty()) {
        sql("alter database " + database + " set default_transaction_isolation = '" +
            default_isolation + "'");
      }
    }
    return with_database(server.url, database);
  }

 private:
  std::set<std::pair<std::string, std::string>> made_;  // database, server
};

}  // namespace

Sql::Sql(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK)
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

std::vector<std::vector<std::string>> Sql::rows(const std::string& text) {
  const core::Handle<PGresult, &PQclear> result(PQexec(connection_.get(), text.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
    throw std::runtime_error(text.substr(0, 200) + ": " + PQerrorMessage(connection_.get()));
  std::vector<std::vector<std::string>> out;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& values = out.emplace_back();
    for (int column = 0; column < PQnfields(result.get()); ++column)
      values.emplace_back(PQgetvalue(result.get(), row, column));
  }
  return out;
}

std::string Sql::operator()(const std::string& text) {
  const auto all = rows(text);
  return all.empty() || all[0].empty() ? std::string{} : all[0][0];
}

std::optional<PostgresqlServer> postgresql_server(std::string_view name) {
  PostgresqlServer server;
  if (name == "PostgreSQL18") {
    server.url = environment("PILLARBOX_TEST_POSTGRESQL18_URL");
  } else if (name == "PostgreSQL15Pgbouncer") {
    server.url = environment("PILLARBOX_TEST_PGBOUNCER_DIRECT_URL");
    server.pooler_url = environment("PILLARBOX_TEST_PGBOUNCER_URL");
    if (server.pooler_url.empty()) return std::nullopt;
  } else if (name == "Spare") {
    server.url = environment("PILLARBOX_TEST_SPARE_URL");
  } else {
    server.url = environment("PILLARBOX_TEST_POSTGRESQL15_URL");
  }
  if (server.url.empty()) return std::nullopt;
  return server;
}

std::string missing_server(std::string_view name) {
  std::string why = "no server for " + std::string(name) +
                    ": run scripts/services start, then eval \"$(scripts/services env)\"";
  if (environment("CI") == "true") ADD_FAILURE() << why;
  return why;
}

std::string with_database(const std::string& url, const std::string& database) {
  return url.substr(0, url.rfind('/') + 1) + database;
}

std::string database_url(const PostgresqlServer& server, const std::string& name,
                         const std::string& default_isolation) {
  static Databases databases;
  return databases.make(server, name, default_isolation);
}

PostgresqlFixture::PostgresqlFixture(Setup setup)
    : setup_(std::move(setup)), session_(setup_.direct_url) {
  session_("set synchronous_commit = off; set client_min_messages = warning");
  auto& used = used_schemas()[setup_.direct_url];
  if (!used.empty()) {
    schema_ = used.back();
    used.pop_back();
    for (const char* table :
         {"outbox", "attempt", "dead_letter", "inbox", "brake", "relay", "audit"})
      sql("delete from pillarbox." + std::string(table));
    return;
  }
  static std::atomic<int> count{0};
  schema_ = "t" + std::to_string(++count);
  StoreOptions direct = options();
  direct.url = setup_.direct_url + "?schema=" + schema_;
  factory().schema(direct)->up({}, {});
}

PostgresqlFixture::~PostgresqlFixture() {
  if (reusable_) used_schemas()[setup_.direct_url].push_back(schema_);
}

Capabilities PostgresqlFixture::capabilities() const { return factory().capabilities(); }

const StoreFactory& PostgresqlFixture::factory() const {
  static const std::shared_ptr<const StoreFactory> kFactory = postgresql::make_factory();
  return *kFactory;
}

StoreOptions PostgresqlFixture::options() const {
  StoreOptions chosen;
  if (setup_.pooler_url.empty()) {
    chosen.url = setup_.direct_url + "?schema=" + schema_;
  } else {
    const std::size_t host = setup_.direct_url.find('@') + 1;
    chosen.url = setup_.pooler_url + "?schema=" + schema_ + "&prepared=false&listen=" +
                 setup_.direct_url.substr(host, setup_.direct_url.rfind('/') - host);
  }
  return chosen;
}

std::unique_ptr<ProducerSession> PostgresqlFixture::producer() {
  // Direct: a transaction that a test leaves open would keep one of the pooler's two connections.
  return std::make_unique<Producer>(setup_.direct_url, schema_);
}

std::string PostgresqlFixture::sql(const std::string& text) {
  return session_(sql::in_schema(text, schema_));
}

void PostgresqlFixture::age(RowId id, Millis by) {
  const std::string back = " - " + std::to_string(by.count()) + " * interval '1 millisecond'";
  const std::string row = std::to_string(to_int(id));
  sql("update pillarbox.outbox set occurred_at = occurred_at" + back +
      ", available_at = available_at" + back + ", expires_at = expires_at" + back +
      ", locked_until = locked_until" + back + ", dispatched_at = dispatched_at" + back +
      " where id = " + row + "; update pillarbox.dead_letter set dead_at = dead_at" + back +
      ", discarded_at = discarded_at" + back + " where outbox_id = " + row);
}

bool PostgresqlFixture::tamper(RowId id, std::string_view column, std::string_view sql_value) {
  try {
    if (column == "id") reusable_ = false;
    if (column == "id") sql("alter table pillarbox.outbox alter id set generated by default");
    sql("update pillarbox.outbox set " + std::string(column) + " = " + std::string(sql_value) +
        " where id = " + std::to_string(to_int(id)));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool PostgresqlFixture::break_connections() {
  if (!setup_.pooler_url.empty()) {
    const std::string database = setup_.direct_url.substr(setup_.direct_url.rfind('/') + 1);
    Sql console(with_database(setup_.pooler_url, "pgbouncer"));
    console("kill " + database);
    console("resume " + database);
  }
  session_(
      "select count(pg_terminate_backend(pid, 30000)) from pg_stat_activity where datname = "
      "current_database() and pid <> pg_backend_pid() and application_name like 'pillarbox %'");
  return true;
}

std::vector<StoreParam> postgresql_params() {
  struct Way {
    const char* name;
    const char* isolation;
  };
  static constexpr Way kWays[] = {{"PostgreSQL15", ""},
                                  {"PostgreSQL18", ""},
                                  {"PostgreSQL15Pgbouncer", ""},
                                  {"PostgreSQL15RepeatableRead", "repeatable read"},
                                  {"PostgreSQL15Serializable", "serializable"}};
  std::vector<StoreParam> params;
  for (const Way& way : kWays) {
    const auto server = postgresql_server(way.name);
    if (!server) continue;
    StoreParam param;
    param.name = way.name;
    param.make = [server = *server, way]() -> std::unique_ptr<StoreFixture> {
      std::string name = way.name;
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      PostgresqlFixture::Setup setup;
      setup.direct_url = database_url(server, name, way.isolation);
      if (!server.pooler_url.empty()) {
        setup.pooler_url = with_database(server.pooler_url,
                                         setup.direct_url.substr(setup.direct_url.rfind('/') + 1));
      }
      return std::make_unique<PostgresqlFixture>(std::move(setup));
    };
    params.push_back(std::move(param));
  }
  return params;
}

}  // namespace pillarbox::testing
