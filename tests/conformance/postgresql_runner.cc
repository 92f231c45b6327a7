// SPDX-License-Identifier: Apache-2.0
// The suites for stores, on PostgreSQL: each server, a pooler, and databases with stricter
// isolation.
#include "tests/conformance/postgresql_fixture.h"
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

PILLARBOX_RUN_STORE_SUITES(PostgreSQL, ::testing::ValuesIn(postgresql_params()));

class PostgresqlServers : public ::testing::TestWithParam<const char*> {};

// A way that did not run is listed by name, never silent.
TEST_P(PostgresqlServers, AreThere) {
  if (!postgresql_server(GetParam())) GTEST_SKIP() << missing_server(GetParam());
}
INSTANTIATE_TEST_SUITE_P(PostgreSQL, PostgresqlServers,
                         ::testing::Values("PostgreSQL15", "PostgreSQL18", "PostgreSQL15Pgbouncer",
                                           "PostgreSQL15RepeatableRead",
                                           "PostgreSQL15Serializable"),
                         [](const auto& server) { return std::string(server.param); });

}  // namespace

}  // namespace pillarbox::testing
