// SPDX-License-Identifier: Apache-2.0
// migrate
#include "cli/actions.h"
#include "core/units.h"

namespace pillarbox::cli {

int migrate_up(Context& context, const Arguments& arguments) {
  MigrateOptions options;
  if (arguments.has("to")) options.to = static_cast<int>(number_of(arguments, "to", 0, 1, 999));
  options.with_roles = arguments.has("roles");
  options.lock_wait = Millis(duration_ms_of(arguments, "wait", options.lock_wait.count()));
  if (options.with_roles && !context.factory().capabilities().roles) {
    throw UsageError("--roles: this store has no roles");
  }
  const auto schema = context.factory().schema(context.store_options());
  const SchemaState state = schema->state();
  if (state.version > state.newest_known) {
    throw Error(ErrorKind::schema, "PBX-3003",
                "the schema is at " + std::to_string(state.version) +
                    ", this program knows up to " + std::to_string(state.newest_known) +
                    "; run a newer pillarbox");
  }
  int missing = 0;
  for (const MigrationStep& step : schema->plan()) {
    if (step.applied || (options.to && step.number > *options.to)) continue;
    ++missing;
    if (arguments.has("dry-run"))
      context.say("would apply " + std::to_string(step.number) + " " + step.name);
  }
  if (arguments.has("dry-run")) {
    context.say(std::to_string(missing) + " to apply; nothing was changed");
    return kDone;
  }
  if (missing > 0 || options.with_roles) {
    schema->up(options, [&](const MigrationStep& step) {
      context.say("applying " + std::to_string(step.number) + " " + step.name);
    });
  }
  const SchemaState after = schema->state();
  context.say((missing == 0 ? "nothing to apply; " : "") + std::string("the schema is at ") +
              std::to_string(after.version));
  return kDone;
}

int migrate_status(Context& context, const Arguments&) {
  const auto schema = context.factory().schema(context.store_options());
  Table table({{"number"}, {"name"}, {"applied"}, {"checksum", true}});
  bool all = true;
  for (const MigrationStep& step : schema->plan()) {
    table.add({std::int64_t{step.number}, step.name, step.applied, step.checksum});
    all = all && step.applied;
  }
  table.write(context.style(), {});
  return all ? kDone : kSchema;
}

int migrate_sql(Context& context, const Arguments&) {
  for (const MigrationStep& step : context.factory().migrations(context.store_options())) {
    write_out("-- migration " + std::to_string(step.number) + " " + step.name + ", checksum " +
              step.checksum + "\n" + step.sql + "\n");
  }
  return kDone;
}

int migrate_verify(Context& context, const Arguments&) {
  const SchemaState state = context.factory().schema(context.store_options())->state();
  Record record;
  record.add("version", std::int64_t{state.version});
  record.add("newest_known", std::int64_t{state.newest_known});
  std::string drift;
  for (const std::string& one : state.drift) drift += (drift.empty() ? "" : "; ") + one;
  record.add("drift", drift);
  record.write(context.style(), {});
  if (state.version != state.newest_known) return kSchema;
  return state.drift.empty() ? kDone : kCheckFailed;
}

}  // namespace pillarbox::cli
