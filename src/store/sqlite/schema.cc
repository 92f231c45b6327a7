// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/schema.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "pillarbox/error.h"
#include "sql/embedded.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/location.h"

namespace pillarbox::sqlite {
namespace {

using Objects = std::map<std::string, std::string>;  // "table pillarbox_outbox" -> its text

Objects objects_of(Connection& connection) {
  Objects objects;
  auto rows = connection.statement("schema_objects.sql", {}).query();
  while (rows.next()) objects.emplace(rows.text(0), rows.text(1));
  return objects;
}

// What the migrations up to `version` make, made in memory.
Objects expected_objects(const std::vector<MigrationStep>& steps, int version) {
  Connection memory(":memory:", {.mode = Connection::Mode::create});
  for (const MigrationStep& step : steps) {
    if (step.number <= version) memory.execute_script(step.sql, "migration " + step.name);
  }
  return objects_of(memory);
}

void mark_applied(Connection& connection, std::vector<MigrationStep>& steps,
                  std::vector<std::string>* drift, int* version) {
  if (objects_of(connection).count("table pillarbox_schema_migration") == 0) return;
  auto rows = connection.statement("migrations_applied.sql", {}).query();
  while (rows.next()) {
    const auto number = static_cast<int>(rows.integer(0));
    if (version != nullptr) *version = std::max(*version, number);
    const auto step =
        std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.number == number; });
    if (step == steps.end()) continue;
    step->applied = true;
    if (drift != nullptr && step->checksum != rows.bytes(2))
      drift->push_back("migration " + std::to_string(number) + " (" + step->name +
                       ") was applied from another file: its checksum is " + rows.text(2));
  }
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

SqliteSchema::SqliteSchema(const StoreOptions& options) : path_(parse_location(options.url).path) {}

SchemaState SqliteSchema::state() {
  std::vector<MigrationStep> steps = sql::migrations(sql::sqlite_files());
  SchemaState state;
  state.newest_known = steps.back().number;
  if (!is_there(path_)) return state;
  Connection connection(path_, {});
  mark_applied(connection, steps, &state.drift, &state.version);
  if (state.version == 0 || state.version > state.newest_known) return state;
  const Objects expected = expected_objects(steps, state.version);
  const Objects found = objects_of(connection);
  for (const auto& [name, text] : expected) {
    const auto it = found.find(name);
    if (it == found.end()) {
      state.drift.push_back(name + " is missing");
    } else if (it->second != text) {
      state.drift.push_back(name + " is not as the migrations make it");
    }
  }
  for (const auto& [name, text] : found) {
    if (expected.count(name) == 0) state.drift.push_back(name + " is not ours but has our prefix");
  }
  return state;
}

std::vector<MigrationStep> SqliteSchema::plan() {
  std::vector<MigrationStep> steps = sql::migrations(sql::sqlite_files());
  if (!is_there(path_)) return steps;
  Connection connection(path_, {});
  mark_applied(connection, steps, nullptr, nullptr);
  return steps;
}

void SqliteSchema::up(const MigrateOptions& options,
                      const std::function<void(const MigrationStep&)>& told) {
  Connection connection(path_, {.mode = Connection::Mode::create});
  connection.start_call(options.lock_wait);
  // Kept in the file: readers and the one writer do not stand in each other's way.
  const std::string mode = connection.pragma("pragma journal_mode = wal");
  if (mode != "wal")
    throw Error(ErrorKind::refused, "PBX-3004",
                path_ + ": the database stays in journal mode '" + mode +
                    "'; Pillarbox needs 'wal', which needs a local file system with shared memory");
  for (const MigrationStep& step : sql::migrations(sql::sqlite_files())) {
    if (options.to && step.number > *options.to) break;
    connection.start_call(options.lock_wait);
    Transaction transaction(connection, Transaction::Kind::write);
    // Under the lock: somebody else may have applied it while we waited.
    std::vector<MigrationStep> known = {step};
    int version = 0;
    mark_applied(connection, known, nullptr, &version);
    if (version > step.number && !known.front().applied)
      throw Error(ErrorKind::schema, "PBX-3003",
                  path_ + ": the outbox has schema " + std::to_string(version) +
                      " but not migration " + std::to_string(step.number) +
                      ", which this program knows; use a newer pillarbox");
    if (known.front().applied) continue;
    if (told) told(step);
    connection.execute_script(step.sql, "migration " + step.name);
    connection.statement("migration_add.sql", {":number", ":name", ":checksum"})
        .run(step.number, step.name, step.checksum);
    transaction.commit();
  }
}

}  // namespace pillarbox::sqlite
