// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/sink.h"

namespace pillarbox {

// ---- the relay's work
// ----------------------------------------------------------------------------------------------

struct ClaimRequest {
  std::size_t count_max = 100;
  std::size_t bytes_max = 8 * 1024 * 1024;  // of payloads; one message is always allowed
  Millis lease{60'000};
  // Exact job types left alone: no route leads on, or their route is backed off. Messages of these
  // keep waiting.
  std::span<const std::string> excluded_types = {};
  // Also look behind the point that earlier claims have passed: late commits, expired leases, and
  // what was excluded or braked then. A store without such a point ignores it. The first claim of a
  // Store looks everywhere in any case.
  bool sweep = false;
};

struct ClaimResult {
  std::vector<ClaimedMessage> messages;  // near-FIFO; at most one for each ordering_key
  bool more = false;                     // a limit ended the claim, or may have: ask again
};

enum class SettleKind { dispatched, retry, dead, release };
enum class DeadReason { permanent, attempts, poison, expired, malformed, parked };
enum class KeyPolicy { hold, skip, park };  // what a dead message does to its ordering_key

[[nodiscard]] std::string_view to_string(SettleKind kind) noexcept;
[[nodiscard]] std::string_view to_string(DeadReason reason) noexcept;
[[nodiscard]] std::optional<DeadReason> dead_reason_from(std::string_view text) noexcept;
[[nodiscard]] std::string_view to_string(KeyPolicy policy) noexcept;

// What a claimant says at the end of a claim.
//   dispatched  the sink acknowledged
//   retry       back to pending, due `delay` from now by the database's clock; the attempt stays
//   counted dead        dead letter; a message with an ordering_key then treats its key as
//   `key_policy` says:
//               hold: its later messages wait until the dead one is replayed or discarded; skip:
//               they go on; park: those that wait now die with it, as `parked`, in order, and later
//               ones wait as with hold. A dead letter holds back what comes after it in its key,
//               never what came before: a parked key can be replayed from its first on.
//   release     back to pending, due `delay` from now; the attempt is given back
struct Settlement {
  Lease lease;
  SettleKind kind = SettleKind::release;
  Millis delay{0};
  DeadReason reason = DeadReason::permanent;  // dead only
  KeyPolicy key_policy = KeyPolicy::hold;     // dead only
  std::string code = {};                      // of the outcome, for retry, dead and release
  std::string error = {};                     // cut to 2000 bytes at a character's border
  Millis took{0};                             // how long the delivery ran
};

// One worker's view of an outbox: one connection, used by one thread at a time. Each call is one
// transaction: it happened, it did not (Error), or nobody knows (Error with in_doubt()). After
// Error with connection_lost() the next call reconnects. Deadlocks and serialization failures are
// repeated inside, a bounded number of times. No call waits for a row that somebody else holds, and
// no transaction stays open between calls.
class Store {
 public:
  virtual ~Store() = default;

  // Leases due messages, oldest first, up to request.count_max and request.bytes_max. Skips what
  // others hold, what is braked, what waits behind its ordering_key. Each message counts an attempt
  // and gets the next claim_no. A message whose earlier lease ran out comes with `reclaimed`, and
  // that earlier attempt enters its history as "lease_lost".
  [[nodiscard]] virtual ClaimResult claim(const ClaimRequest& request) = 0;

  // Sets the leases that are still ours to `extension` from now; returns the others. A lease that
  // ran out is still ours while nobody else took the message, and nothing else of its key runs.
  [[nodiscard]] virtual std::vector<Lease> renew(std::span<const Lease> leases,
                                                 Millis extension) = 0;

  // Ends leases as told, all in one transaction, also leases that ran out and nobody took over.
  // Leaves alone, and returns, those that are no longer ours. Repeating the same call after a lost
  // answer changes nothing (and returns them all, or those it had not ended).
  [[nodiscard]] virtual std::vector<Lease> settle(std::span<const Settlement> settlements) = 0;
};

// ---- waking up
// -----------------------------------------------------------------------------------------------------

// Tells an idle relay that something was committed. One per relay and outbox, used by one thread at
// a time. It is only a hint: polling finds everything without it. Errors inside are logged by the
// caller and followed by polling.
class WakeSource {
 public:
  enum class Armed {
    exact,   // every commit from now on wakes us: claim once more, then wait as long as you like
    racing,  // a producer that began before may commit unheard: poll again soon
    deaf,    // no connection, or this store cannot wake: poll
  };
  virtual ~WakeSource() = default;

  [[nodiscard]] virtual Armed arm() = 0;

  // True when woken, false at `until` or when stop was asked. Wakes at once for commits since
  // arm().
  [[nodiscard]] virtual bool wait(Instant until, std::stop_token stop) = 0;

  // We are busy: producers need not wake us.
  virtual void disarm() = 0;
};

// ---- the operator's work
// -------------------------------------------------------------------------------------------

enum class Status : std::int16_t { pending = 0, claimed = 1, dispatched = 2, dead = 3 };
[[nodiscard]] std::string_view to_string(Status status) noexcept;

// One line of a list. `view` refines pending: ready, delayed, retrying, held, braked; else it
// equals the status.
struct MessageRow {
  RowId id{};
  MessageId message_id;
  std::string job_type;
  Status status{};
  std::string view;
  std::string content_type;
  std::int64_t payload_bytes = 0;
  Headers headers;
  std::string correlation_id;
  std::string ordering_key;
  DbTime occurred_at{};
  DbTime available_at{};
  std::optional<DbTime> expires_at;
  std::string claimed_by;
  std::optional<DbTime> locked_until;
  std::int64_t claim_no = 0;
  std::int32_t attempts = 0;
  std::int32_t life = 0;
  std::optional<DbTime> dispatched_at;
  std::string last_error;
};

struct AttemptRow {
  std::int32_t life = 0;
  std::int32_t attempt = 0;
  std::int64_t claim_no = 0;
  std::string claimed_by;
  std::optional<DbTime> started_at;  // of the claim, where known
  DbTime ended_at{};
  std::string outcome;  // retry, dead, release, lease_lost, replayed, released_by_operator
  std::string code;
  std::string error;
  std::int64_t took_ms = 0;
};

struct DeadLetter {
  RowId id{};
  MessageId message_id;
  std::string job_type;
  std::string ordering_key;
  DeadReason reason{};
  std::string code;
  std::string error;
  std::int32_t attempts = 0;
  std::int32_t life = 0;
  DbTime dead_at{};
  bool holds_key = false;
  std::optional<DbTime> discarded_at;  // set: a tombstone; the message itself is gone
  std::string discarded_by;
  std::string discard_reason;
};

struct MessageDetail {
  MessageRow row;
  std::string payload;               // only when asked for
  std::vector<AttemptRow> attempts;  // every life, oldest first
  std::vector<DeadLetter> dead_letters;
  DbTime now{};
};

// Conditions are joined by "and"; the values of one condition by "or". Statuses and views are
// values of one condition ("status:dead,retrying"). Built from the filter text
// (src/core/filter.h).
struct Filter {
  std::vector<RowId> ids = {};
  std::vector<MessageId> message_ids = {};
  std::vector<Status> statuses = {};
  std::vector<std::string> views = {};      // ready delayed retrying held braked
  std::vector<std::string> job_types = {};  // exact, or with one trailing '*'
  std::vector<std::string> not_job_types = {};
  std::vector<std::string> ordering_keys = {};
  std::vector<std::string> correlation_ids = {};
  std::vector<DeadReason> reasons = {};
  std::vector<DeadReason> not_reasons = {};
  std::optional<std::int32_t> attempts_min = {};  // inclusive
  std::optional<std::int32_t> attempts_max = {};
  std::optional<DbTime> occurred_from = {};    // inclusive
  std::optional<DbTime> occurred_before = {};  // exclusive
  std::optional<Millis> age_min = {};          // older than, by the database's clock
  std::optional<Millis> age_max = {};
  std::string error_contains = {};
  Headers headers = {};  // all of these, exactly
};

struct Page {
  RowId before{INT64_MAX};  // newest first: rows with a smaller id
  std::size_t limit = 50;   // at most 500
  std::size_t scan_max = 10'000;
};

struct MessageList {
  std::vector<MessageRow> rows;  // newest first
  std::optional<RowId> next;     // pass as Page::before
  bool truncated = false;        // scan_max ended the search
};

struct DeadGroup {
  std::string job_type;
  DeadReason reason{};
  std::string error;  // normalised: numbers and ids replaced by '#'
  std::int64_t count = 0;
  DbTime first_at{};
  DbTime last_at{};
  RowId sample{};
};

struct TypeCount {
  std::string job_type;
  std::int64_t waiting = 0;  // pending and claimed
};

// Counts are capped at 10 000 each ("10 000+"): capped() names which.
struct Overview {
  static constexpr std::int64_t kCountCap = 10'000;
  DbTime now{};
  std::int64_t ready = 0;
  std::int64_t delayed = 0;
  std::int64_t retrying = 0;
  std::int64_t held = 0;
  std::int64_t braked = 0;
  std::int64_t claimed = 0;
  std::int64_t dead = 0;
  std::int64_t dead_last_day = 0;
  std::optional<DbTime>
      oldest_ready_at;  // available_at of the oldest due message that nobody holds
  std::optional<DbTime> last_dispatched_at;
  std::int64_t dispatched_last_minute = 0;  // capped too
  std::vector<TypeCount>
      waiting_types;  // the most waiting first, at most 50; from at most 10 000 live rows
};

struct BrakeRow {
  std::string scope;  // "all", "type:email.*" or "type:email.welcome.v1"
  std::string reason;
  std::string set_by;
  DbTime set_at{};
};

struct RelayRow {
  std::string claimed_by;  // host:pid:nonce
  std::string version;
  std::int32_t workers = 0;
  std::int64_t leases_held = 0;
  DbTime started_at{};
  DbTime heartbeat_at{};
  bool draining = false;
};

// Which rows an operator's act may touch, and the guard: a row that has moved on since is left
// alone.
struct ActTarget {
  RowId id{};
  std::int64_t claim_no = 0;
};

struct ActResult {
  std::int64_t done = 0;
  std::int64_t skipped = 0;  // moved on meanwhile, or not in a state that allows it
};

enum class PurgeKind { dispatched, tombstones, dead, inbox };

struct Finding {
  enum class Level { ok, warn, error };
  Level level = Level::ok;
  std::string subject;
  std::string text;
  std::string fix;  // a command or SQL; empty when there is nothing to do
};

// One operator's session: list, look, act. One connection, one thread at a time, statement time-out
// 5 s. Lists read no payload. Every act writes one line of audit into the store.
class StoreAdmin {
 public:
  virtual ~StoreAdmin() = default;

  [[nodiscard]] virtual Overview overview() = 0;
  [[nodiscard]] virtual MessageList list(const Filter& filter, const Page& page) = 0;
  // Of a discarded message: the view "discarded", and its tombstone among the dead letters.
  [[nodiscard]] virtual std::optional<MessageDetail> show(RowId id, bool with_payload) = 0;
  [[nodiscard]] virtual std::optional<RowId> find(MessageId message_id) = 0;
  // Newest first, without tombstones (see show()). Of the filter: ids, message_ids, types, keys,
  // reasons and error_contains.
  [[nodiscard]] virtual std::vector<DeadLetter> dead_letters(const Filter& filter,
                                                             const Page& page) = 0;
  [[nodiscard]] virtual std::vector<DeadGroup>
  dead_groups() = 0;  // at most 200, from the newest 10 000

  // Enqueues in a transaction of its own; the same id for a repeated message_id.
  virtual MessageId enqueue(const NewMessage& message) = 0;
  // The same for many in one transaction: all or none. Ids in the order given.
  virtual std::vector<MessageId> enqueue_all(std::span<const NewMessage> messages) = 0;

  // dead -> pending: attempts 0, life + 1, due now, the key held by it let go.
  [[nodiscard]] virtual ActResult replay(std::span<const ActTarget> targets, std::string_view who,
                                         std::string_view why) = 0;
  // dead or pending -> gone, with a tombstone; the key held by it let go, its message_id forgotten.
  [[nodiscard]] virtual ActResult discard(std::span<const ActTarget> targets, std::string_view who,
                                          std::string_view why) = 0;
  // claimed -> pending, due now: takes the lease from a holder that is gone. The attempt stays
  // counted.
  [[nodiscard]] virtual ActResult release(std::span<const ActTarget> targets, std::string_view who,
                                          std::string_view why) = 0;

  [[nodiscard]] virtual std::vector<BrakeRow> brakes() = 0;
  // Sets the brake and returns how many messages in its scope are claimed at that moment. Every
  // claim that commits later sees the brake; when claimed_in_scope() has come to 0, no delivery of
  // the scope runs or will start.
  virtual std::int64_t brake(std::string_view scope, std::string_view who,
                             std::string_view why) = 0;
  [[nodiscard]] virtual std::int64_t claimed_in_scope(
      std::string_view scope) = 0;                                         // under live leases only
  virtual bool unbrake(std::string_view scope, std::string_view who) = 0;  // false: was not set

  // Removes at most `batch` rows older than `age`; returns how many. Repeat until 0. Never touches
  // live rows; `dead` takes dead letters with their messages, and not those that hold a key.
  [[nodiscard]] virtual std::int64_t purge(PurgeKind kind, Millis age, std::size_t batch) = 0;

  [[nodiscard]] virtual std::vector<RelayRow> relays() = 0;
  // Writes this relay's heartbeat and drops those of relays silent for a day; true when an operator
  // asked it to drain.
  virtual bool heartbeat(const RelayRow& relay) = 0;
  virtual void say_goodbye(std::string_view claimed_by) = 0;
  virtual bool ask_to_drain(std::string_view claimed_by) = 0;  // false: no such relay

  // The store's own checks: version, rights, settings, clock, plan of the claim, sizes, long
  // transactions.
  [[nodiscard]] virtual std::vector<Finding> examine() = 0;
};

// ---- the schema
// ----------------------------------------------------------------------------------------------------

struct SchemaState {
  int version = 0;                 // 0: there is none
  int newest_known = 0;            // of this program
  std::vector<std::string> drift;  // what differs from what the migrations make; empty when right
};

struct MigrationStep {
  int number = 0;
  std::string name;
  std::string sql;
  std::string checksum;  // SHA-256, hex
  bool applied = false;
};

struct MigrateOptions {
  std::optional<int> to = {};
  bool with_roles = false;  // where the database has roles: producer, relay, viewer
  Millis lock_wait{60'000};
};

class Schema {
 public:
  virtual ~Schema() = default;
  [[nodiscard]] virtual SchemaState state() = 0;
  [[nodiscard]] virtual std::vector<MigrationStep> plan() = 0;
  // Applies what is missing under a database lock; each step in a transaction. Tells each step
  // before it begins.
  virtual void up(const MigrateOptions& options,
                  const std::function<void(const MigrationStep&)>& told) = 0;
};

// ---- the registry's view
// -------------------------------------------------------------------------------------------

// Promises to users; shown in the docs and asked by the suites. No code asks for a store's name.
struct Capabilities {
  bool wakes = false;                 // commits wake an idle relay
  bool many_relays = false;           // relays on several hosts
  bool concurrent_claims = false;     // two claims run at once (else one after the other)
  bool concurrent_producers = false;  // two producers may hold transactions at once
  bool roles = false;
  bool durable = false;  // survives the process
};

struct StoreOptions {
  std::string url;  // as in the configuration
  std::shared_ptr<const Secret> password = {};
  std::string claimed_by = {};  // of Store; see make_claimed_by()
  bool keep_dispatched = true;  // false: settled rows leave (retention.dispatched = "0")
  Millis connect_timeout{10'000};
  Millis call_timeout{5'000};
};

class StoreFactory {
 public:
  virtual ~StoreFactory() = default;
  [[nodiscard]] virtual std::span<const std::string_view> schemes() const = 0;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  // Throws Error(invalid_input, PBX-2010) for a URL that cannot be right. Opens nothing.
  virtual void check(const StoreOptions& options) const = 0;
  // These three throw Error(schema, PBX-30nn) when the schema is missing, too old or too new, on
  // first use.
  [[nodiscard]] virtual std::unique_ptr<Store> connect(const StoreOptions& options) const = 0;
  [[nodiscard]] virtual std::unique_ptr<StoreAdmin> connect_admin(
      const StoreOptions& options) const = 0;
  [[nodiscard]] virtual std::unique_ptr<WakeSource> wake_source(
      const StoreOptions& options) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Schema> schema(const StoreOptions& options) const = 0;
  // The same migrations as text, for a DBA; needs no connection.
  [[nodiscard]] virtual std::vector<MigrationStep> migrations(
      const StoreOptions& options) const = 0;
};

// "host:pid:nonce", lower case: in containers host and pid repeat, so the nonce is random per
// start.
[[nodiscard]] std::string make_claimed_by();

}  // namespace pillarbox
