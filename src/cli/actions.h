// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.h"

// Every command's function: takes what was typed, answers with an exit code, throws what main()
// turns into one.
namespace pillarbox::cli {

int migrate_up(Context&, const Arguments&);
int migrate_status(Context&, const Arguments&);
int migrate_sql(Context&, const Arguments&);
int migrate_verify(Context&, const Arguments&);
int run_relay(Context&, const Arguments&);
int enqueue(Context&, const Arguments&);
int status(Context&, const Arguments&);
int list_messages(Context&, const Arguments&);
int show_message(Context&, const Arguments&);
int dead_list(Context&, const Arguments&);
int dead_groups(Context&, const Arguments&);
int dead_export(Context&, const Arguments&);
int replay(Context&, const Arguments&);
int discard(Context&, const Arguments&);
int release(Context&, const Arguments&);
int pause(Context&, const Arguments&);
int resume(Context&, const Arguments&);
int purge(Context&, const Arguments&);
int relay_list(Context&, const Arguments&);
int relay_drain(Context&, const Arguments&);
int route_list(Context&, const Arguments&);
int route_test(Context&, const Arguments&);
int config_check(Context&, const Arguments&);
int config_show(Context&, const Arguments&);
int config_init(Context&, const Arguments&);
int config_keys(Context&, const Arguments&);
int doctor(Context&, const Arguments&);
int demo(Context&, const Arguments&);
int bench_enqueue(Context&, const Arguments&);
int bench_claim(Context&, const Arguments&);
int bench_relay(Context&, const Arguments&);
int bench_latency(Context&, const Arguments&);
int completion(Context&, const Arguments&);
int version(Context&, const Arguments&);
int help(Context&, const Arguments&);

// The rows of `list`, shared with dead export.
[[nodiscard]] std::string message_json(const MessageRow& row);

}  // namespace pillarbox::cli
