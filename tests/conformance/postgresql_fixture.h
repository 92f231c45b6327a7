// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/handle.h"
#include "tests/conformance/store_fixture.h"

namespace pillarbox::testing {

// A plain session for tests: text in, text out. Throws std::runtime_error with the server's words.
class Sql {
 public:
  explicit Sql(const std::string& url);
  // Runs all statements of `text` and returns the first column of the last one's first row.
  std::string operator()(const std::string& text);
  std::vector<std::vector<std::string>> rows(const std::string& text);
  [[nodiscard]] PGconn* raw() const { return connection_.get(); }

 private:
  core::Handle<PGconn, &PQfinish> connection_;
};

// A server that scripts/services made; nullopt when it is not there.
struct PostgresqlServer {
  std::string url;         // of database postgres, as superuser, direct
  std::string pooler_url;  // empty: none
};
[[nodiscard]] std::optional<PostgresqlServer> postgresql_server(std::string_view name);
// Why a test that needs the server is skipped; fails it when CI=true.
[[nodiscard]] std::string missing_server(std::string_view name);

// A database that this process makes and drops at its end, one for each name.
[[nodiscard]] std::string database_url(const PostgresqlServer& server, const std::string& name,
                                       const std::string& default_isolation = {});
[[nodiscard]] std::string with_database(const std::string& url, const std::string& database);

class PostgresqlFixture final : public StoreFixture {
 public:
  struct Setup {
    std::string direct_url;  // of the test's database
    std::string pooler_url;  // empty: direct
  };
  explicit PostgresqlFixture(Setup setup);
  ~PostgresqlFixture() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] const StoreFactory& factory() const override;
  [[nodiscard]] StoreOptions options() const override;
  [[nodiscard]] std::unique_ptr<ProducerSession> producer() override;
  void age(RowId id, Millis by) override;
  bool tamper(RowId id, std::string_view column, std::string_view sql_value) override;
  bool break_connections() override;

  [[nodiscard]] const std::string& schema() const { return schema_; }
  [[nodiscard]] const std::string& direct_url() const { return setup_.direct_url; }
  // Runs `text` after replacing "pillarbox." by this test's schema.
  std::string sql(const std::string& text);
  Sql& session() { return session_; }
  void changes_the_schema() { reusable_ = false; }

 private:
  Setup setup_;
  bool reusable_ = true;
  std::string schema_;
  Sql session_;
};

[[nodiscard]] std::vector<StoreParam> postgresql_params();

}  // namespace pillarbox::testing
