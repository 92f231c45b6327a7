// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pillarbox/error.h"
#include "tests/conformance/postgresql_fixture.h"

namespace pillarbox::testing {

// Tests of what only PostgreSQL has, on each server that is there: a fresh outbox a test.
class PostgresqlTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto server = postgresql_server(GetParam());
    if (!server) GTEST_SKIP() << missing_server(GetParam());
    fixture_ = std::make_unique<PostgresqlFixture>(
        PostgresqlFixture::Setup{database_url(*server, "own"), {}});
  }

  [[nodiscard]] bool has_outbox() const { return fixture_ != nullptr; }
  [[nodiscard]] PostgresqlFixture& outbox() { return *fixture_; }
  std::string sql(const std::string& text) { return fixture_->sql(text); }
  [[nodiscard]] std::string schema() const { return fixture_->schema(); }

  // A further session of the test's database, as `options` of the connection say.
  [[nodiscard]] std::unique_ptr<Sql> another_session(const std::string& parameters = "") {
    return std::make_unique<Sql>(fixture_->direct_url() + parameters);
  }
  // `text` in this test's schema, by that session.
  std::string run(Sql& session, const std::string& text);
  // The SQLSTATE that `text` fails with; empty when it works.
  static std::string state_of(Sql& session, const std::string& text);
  std::string state_of(const std::string& text);

  void fill(int count, const std::string& key_expression = "null");
  // The text of a statement file, ready for this test's schema.
  [[nodiscard]] std::string statement(const std::string& name);

 private:
  std::unique_ptr<PostgresqlFixture> fixture_;
};

inline std::string server_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}

[[nodiscard]] bool happens(const std::function<bool()>& condition);

}  // namespace pillarbox::testing
