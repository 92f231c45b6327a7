// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/postgresql_test.h"

#include "sql/embedded.h"

namespace pillarbox::testing {

std::string PostgresqlTest::run(Sql& session, const std::string& text) {
  return session(sql::in_schema(text, schema()));
}

std::string PostgresqlTest::state_of(Sql& session, const std::string& text) {
  const core::Handle<PGresult, &PQclear> result(PQexec(session.raw(), text.c_str()));
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

std::string PostgresqlTest::state_of(const std::string& text) {
  return state_of(outbox().session(), sql::in_schema(text, schema()));
}

void PostgresqlTest::fill(int count, const std::string& key_expression) {
  sql("insert into pillarbox.outbox (message_id, job_type, payload, ordering_key) select "
      "gen_random_uuid(), 'order.shipped.v1', '{\"order\":17}', " +
      key_expression + " from generate_series(1, " + std::to_string(count) + ") as n");
}

std::string PostgresqlTest::statement(const std::string& name) {
  return sql::in_schema(sql::statement(sql::postgresql_files(), "statements/" + name + ".sql"),
                        schema());
}

bool happens(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace pillarbox::testing
