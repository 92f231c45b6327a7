// SPDX-License-Identifier: Apache-2.0
// The one table of commands: parsing, help, the reference and completion are made from it.
#include "cli/actions.h"

namespace pillarbox::cli {
namespace {

constexpr std::size_t kAny = 100'000;

constexpr Flag kGlobal[] = {
    {"config", 0, "FILE", "the configuration file"},
    {"store", 0, "URL",
     "a single outbox, without a file: sqlite:app.db, postgresql://user@host/db"},
    {"sink", 0, "URL", "one route for everything, without a file: stdout:, file:/path, https://…"},
    {"set", 0, "KEY=VALUE", "a setting, as in relay.workers=4"},
    {"outbox", 0, "NAME", "which outbox, when there are several"},
    {"output", 'o', "FORMAT", "how results are written", "table|tsv|json|ndjson|id"},
    {"json", 0, "", "the same as --output json"},
    {"timeout", 0, "DURATION", "for connecting and for each call to the store"},
    {"yes", 0, "", "answer every question with yes"},
    {"no-input", 0, "", "never ask: decline instead (exit 9)"},
    {"no-color", 0, "", "no colours"},
    {"quiet", 'q', "", "only results and errors"},
    {"verbose", 'v', "", "log at level debug"},
    {"help", 'h', "", "help for the command"},
};

constexpr Flag kFilter[] = {{"filter", 0, "FILTER", "which messages; see: pillarbox help filters"},
                            {"limit", 0, "N", "at most so many (50; 1 to 500)"},
                            {"before", 0, "ID", "go on below this row"}};
constexpr Flag kActs[] = {
    {"filter", 0, "FILTER", "which messages; see: pillarbox help filters"},
    {"ids", 0, "-", "read ids from standard input, one a line"},
    {"dry-run", 0, "", "only count"},
    {"reason", 0, "TEXT", "for the audit"},
    {"rate", 0, "N", "at most so many a second"},
    {"export", 0, "FILE", "first write what is touched there, as NDJSON with payloads"}};
constexpr Flag kMigrate[] = {
    {"dry-run", 0, "", "only show the plan"},
    {"to", 0, "N", "stop at migration N"},
    {"wait", 0, "DURATION", "for another migration to end (60s)"},
    {"roles", 0, "",
     "also create the roles pillarbox_producer, pillarbox_relay, pillarbox_viewer"}};
constexpr Flag kEnqueue[] = {
    {"header", 'H', "NAME:VALUE", "a header; may be repeated"},
    {"key", 0, "KEY", "ordering_key"},
    {"corr", 0, "ID", "correlation_id"},
    {"id", 0, "UUID", "message_id; enqueueing it again changes nothing"},
    {"delay", 0, "DURATION", "not before this long from now"},
    {"expires-in", 0, "DURATION", "dead as expired after this long"},
    {"content-type", 0, "TYPE", "what the payload is (application/json)"},
    {"ndjson", 0, "", "read messages from standard input, one JSON payload a line"}};
constexpr Flag kStatus[] = {
    {"watch", 0, "", "again every 2 seconds, until interrupted"},
    {"check", 0, "", "exit 6 when something is wrong; for health checks"},
    {"max-age", 0, "DURATION", "of the oldest ready message, with --check (5m)"},
    {"max-dead", 0, "N", "dead letters, with --check (0)"}};
constexpr Flag kShow[] = {
    {"payload", 0, "", "the payload too, byte for byte when piped alone with -o id"}};
constexpr Flag kPause[] = {
    {"type", 0, "PATTERN", "this job type, or a prefix with one '*' at its end"},
    {"route", 0, "NAME", "every type that goes to this route"},
    {"all", 0, "", "everything"},
    {"reason", 0, "TEXT", "shown to everybody who looks"},
    {"wait", 0, "DURATION", "how long to wait for deliveries that run (60s)"}};
constexpr Flag kResume[] = {{"type", 0, "PATTERN", "as given to pause"},
                            {"route", 0, "NAME", "as given to pause"},
                            {"all", 0, "", "the brake on everything"}};
constexpr Flag kConfigCheck[] = {{"connect", 0, "", "also reach every store and sink"}};
constexpr Flag kDemo[] = {{"keep", 0, "", "keep the folder"}};
constexpr Flag kBench[] = {
    {"messages", 0, "N", "how many (500000; latency: 2000)"},
    {"size", 0, "BYTES", "of a payload (300)"},
    {"workers", 0, "N", "threads that claim, or relay workers (2)"},
    {"clients", 0, "N", "threads that enqueue (4)"},
    {"batch", 0, "N", "messages in a claim (500)"},
    {"runs", 0, "N", "how often; the median is shown (3)"},
    {"rate", 0, "N", "latency: messages a second (200)"},
    {"keys", 0, "N", "different ordering keys (0: none)"},
    {"leave", 0, "", "settled rows leave, as with retention.dispatched = \"0\""}};

constexpr Command kCommands[] = {
    {"migrate up", "create or upgrade the schema", "", 0, 0, kMigrate, &migrate_up,
     "Takes a lock, applies each missing step in a transaction, records it. Running it again "
     "continues."},
    {"migrate status", "which migrations are applied", "", 0, 0, {}, &migrate_status, ""},
    {"migrate sql",
     "print the SQL, for a DBA; needs no connection",
     "",
     0,
     0,
     {},
     &migrate_sql,
     ""},
    {"migrate verify",
     "compare what is there with what should be",
     "",
     0,
     0,
     {},
     &migrate_verify,
     ""},
    {"migrate", "the same as migrate up", "", 0, 0, kMigrate, &migrate_up, ""},
    {"run",
     "the relay, in the foreground; logs to stderr",
     "",
     0,
     0,
     {},
     &run_relay,
     "The first SIGTERM or SIGINT drains and exits 0; the second exits at once, and leases bring "
     "the work back."},
    {"enqueue", "enqueue a message, or many", "TYPE [PAYLOAD|-|@FILE]", 1, 2, kEnqueue, &enqueue,
     "    pillarbox enqueue email.welcome.v1 '{\"user\":17}' --key user-17\n"
     "    pillarbox enqueue report.v1 --ndjson < lines"},
    {"status", "what waits, how old it is, why, and what to do", "", 0, 0, kStatus, &status, ""},
    {"list", "messages, newest first", "", 0, 0, kFilter, &list_messages,
     "    pillarbox list --filter 'status:retrying type:email.* age:>5m'"},
    {"show", "one message with its history", "ID", 1, 1, kShow, &show_message, ""},
    {"dead list", "dead letters, newest first", "", 0, 0, kFilter, &dead_list, ""},
    {"dead groups", "dead letters by cause", "", 0, 0, {}, &dead_groups, ""},
    {"dead export", "dead letters with payloads, as NDJSON", "", 0, 0, kFilter, &dead_export, ""},
    {"dead", "the same as dead list", "", 0, 0, kFilter, &dead_list, ""},
    {"replay", "bring dead letters back, as a new life", "[ID…]", 0, kAny, kActs, &replay,
     "    pillarbox replay --filter 'status:dead reason:attempts' --dry-run\n"
     "    pillarbox list --filter status:dead -o id | pillarbox replay --ids -"},
    {"discard", "remove dead or pending messages; a tombstone stays", "[ID…]", 0, kAny, kActs,
     &discard, ""},
    {"release", "take leases from holders that are gone", "[ID…]", 0, kAny, kActs, &release, ""},
    {"pause", "the brake: producers go on, delivery stops; returns when it holds everywhere", "", 0,
     0, kPause, &pause, ""},
    {"resume", "lift the brake", "", 0, 0, kResume, &resume, ""},
    {"purge", "remove what is past its retention, now", "", 0, 0, {}, &purge, ""},
    {"relay list", "relays that were heard of", "", 0, 0, {}, &relay_list, ""},
    {"relay drain", "ask a relay to end its work and stop", "NAME", 1, 1, {}, &relay_drain, ""},
    {"route list", "routes, and what waits for each", "", 0, 0, {}, &route_list, ""},
    {"route test",
     "ask a route's sink whether it would take messages",
     "NAME",
     1,
     1,
     {},
     &route_test,
     ""},
    {"config check", "check the configuration", "", 0, 0, kConfigCheck, &config_check, ""},
    {"config show", "effective values with their origin", "", 0, 0, {}, &config_show, ""},
    {"config init", "a commented configuration file, to stdout", "", 0, 0, {}, &config_init, ""},
    {"config keys", "the reference of all settings", "[SECTION]", 0, 1, {}, &config_keys, ""},
    {"doctor", "check everything; say what to do", "", 0, 0, {}, &doctor, ""},
    {"demo", "the story on SQLite, in a temporary folder", "", 0, 0, kDemo, &demo, ""},
    {"bench enqueue", "how fast producers commit", "", 0, 0, kBench, &bench_enqueue, ""},
    {"bench claim", "claim and settle, without a relay around it", "", 0, 0, kBench, &bench_claim,
     ""},
    {"bench relay", "drain a backlog through the whole relay into the null sink", "", 0, 0, kBench,
     &bench_relay, ""},
    {"bench latency", "from commit to delivery while idle", "", 0, 0, kBench, &bench_latency, ""},
    {"completion", "shell completion, to stdout", "bash|zsh|fish", 1, 1, {}, &completion, ""},
    {"version", "version, stores and sinks", "", 0, 0, {}, &version, ""},
    {"help", "this overview, a command, or a topic", "[TOPIC]", 0, 2, {}, &help, ""},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const Flag> global_flags() { return kGlobal; }

}  // namespace pillarbox::cli
