// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/schema.h"

#include <algorithm>
#include <set>

#include "pillarbox/error.h"
#include "sql/embedded.h"

namespace pillarbox::postgresql {
namespace {

constexpr Millis kStepTimeout{600'000};

// What the migrations make, in the words of drift.sql; kept beside them and compared by a test.
std::string_view expected_items() {
  return sql::statement(sql::postgresql_files(), "expected_items.sql");
}

}  // namespace

std::vector<MigrationStep> migration_steps(std::string_view schema) {
  std::vector<MigrationStep> steps = sql::migrations(sql::postgresql_files());
  for (MigrationStep& step : steps) step.sql = sql::in_schema(step.sql, schema);
  return steps;
}

PostgresqlSchema::PostgresqlSchema(const StoreOptions& options)
    : session_(read_location(options.url), options, "migrate", Session::Needs::nothing) {}

std::vector<MigrationStep> PostgresqlSchema::plan() {
  std::vector<MigrationStep> steps = migration_steps(session_.location().schema);
  if (!session_.call("schema", Call{"schema_exists", {}}).boolean(0, 0)) return steps;
  const Result applied = session_.call("schema", Call{"migrations", {}});
  for (int row = 0; row < applied.rows(); ++row) {
    for (MigrationStep& step : steps)
      step.applied = step.applied || step.number == applied.integer(row, 0);
  }
  return steps;
}

SchemaState PostgresqlSchema::state() {
  SchemaState state;
  const std::vector<MigrationStep> steps = migration_steps(session_.location().schema);
  state.newest_known = steps.back().number;
  if (!session_.call("schema", Call{"schema_exists", {}}).boolean(0, 0)) return state;
  const Result applied = session_.call("schema", Call{"migrations", {}});
  for (int row = 0; row < applied.rows(); ++row) {
    const auto number = static_cast<int>(applied.integer(row, 0));
    state.version = std::max(state.version, number);
    for (const MigrationStep& step : steps) {
      if (step.number == number && step.checksum != applied.bytes(row, 2)) {
        state.drift.push_back("migration " + std::to_string(number) +
                              " was applied with another text");
      }
    }
  }
  if (state.version != state.newest_known) return state;
  const Result there = session_.call("schema", Call{"drift", {}});
  std::set<std::string, std::less<>> items;
  for (int row = 0; row < there.rows(); ++row) items.insert(there.text(row, 0));
  std::string_view rest = expected_items();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (!line.empty() && !line.starts_with("--") && !items.contains(line)) {
      state.drift.push_back("missing: " + std::string(line));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return state;
}

void PostgresqlSchema::up(const MigrateOptions& options,
                          const std::function<void(const MigrationStep&)>& told) {
  session_.set_timeout(options.lock_wait + kStepTimeout);
  const std::vector<MigrationStep> all = plan();
  for (const MigrationStep& step : all) {
    if (options.to && step.number > *options.to) break;
    if (step.applied) continue;
    if (told) told(step);
    // Lock, look again, apply and record: one transaction. Another migrator that was quicker leaves
    // us nothing to do.
    session_.execute("migrate", session_.statement_text("begin"));
    try {
      const std::string lock_wait_ms = std::to_string(options.lock_wait.count());
      Call lock{"lock_migration", {}};
      lock.parameters.text(lock_wait_ms);
      static_cast<void>(session_.call("migrate", std::move(lock)));
      const bool raced = session_.call("schema", Call{"schema_exists", {}}).boolean(0, 0) && [&] {
        const Result applied = session_.call("schema", Call{"migrations", {}});
        for (int row = 0; row < applied.rows(); ++row) {
          if (applied.integer(row, 0) == step.number) return true;
        }
        return false;
      }();
      if (!raced) {
        session_.execute("migrate", step.sql);
        Call record{"migration_applied", {}};
        record.parameters.int4(step.number).text(step.name).text(step.checksum);
        static_cast<void>(session_.call("migrate", std::move(record)));
      }
      session_.execute("migrate", session_.statement_text("commit"));
    } catch (...) {
      session_.disconnect();  // the server rolls back
      throw;
    }
  }
  if (options.with_roles) {
    const std::string roles = sql::in_schema(sql::statement(sql::postgresql_files(), "roles.sql"),
                                             session_.location().schema);
    session_.execute("migrate", roles);
  }
}

}  // namespace pillarbox::postgresql
