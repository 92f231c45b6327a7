// SPDX-License-Identifier: Apache-2.0
#include "sink/hangfire/hangfire_sink.h"

#include <algorithm>

#include "core/assert.h"
#include "pillarbox/error.h"
#include "sink/setting_values.h"
#include "sql/embedded.h"

namespace pillarbox::hangfire {
namespace {

using postgresql::Call;
using postgresql::Result;

constexpr std::string_view kPrefix = "hangfire+";
constexpr int kConflictsMax = 4;             // deadlocks and the like, repeated in place
constexpr std::int64_t kOldestVersion = 20;  // jsonb columns
constexpr std::int64_t kNewestVersion = 23;  // of those that were tried

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && (name[0] < '0' || name[0] > '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

StoreOptions options_of(const StorageSettings& storage) {
  StoreOptions options;
  options.password = storage.password;
  return options;
}

// The server took our statement and refused a value in it, which one message may have brought.
bool is_about_data(const Error& error) {
  const std::string_view group = error.native_code().substr(0, 2);
  return group == "22" || group == "23" || group == "54";
}

Outcome outcome_of(const Error& error) {
  const std::string code =
      "hangfire_" +
      (error.native_code().empty() ? std::string("failed") : std::string(error.native_code()));
  if (is_about_data(error)) return Outcome::permanent(code, error.what());
  if (error.kind() == ErrorKind::conflict) return Outcome::transient(code, error.what());
  if (error.kind() == ErrorKind::schema) {
    return Outcome::unavailable(code, std::string(error.what()) +
                                          "; Hangfire's tables are missing or in another schema: "
                                          "let a Hangfire server make them, or set storage_schema");
  }
  // Nothing of this is about a message: no connection, no rights, no room.
  return Outcome::unavailable(code, error.what());
}

}  // namespace

StorageSettings read_storage(const SinkSettings& given) {
  const sink::SettingValues values(given, settings());
  StorageSettings storage;
  storage.sink = given.name;
  if (!given.url.starts_with(kPrefix)) {
    throw Error(ErrorKind::invalid_input, "PBX-5003",
                "sink \"" + given.name +
                    "\": a Hangfire storage is written "
                    "\"hangfire+postgresql://user@host/database\"");
  }
  storage.location = postgresql::read_location(std::string_view(given.url).substr(kPrefix.size()));
  storage.storage_schema = values.text("storage_schema");
  storage.location.schema = values.text("ledger_schema");
  for (const char* key : {"storage_schema", "ledger_schema"}) {
    if (!is_plain_name(values.text(key)))
      values.refuse(key, "is \"" + values.text(key) +
                             "\"; it may be a plain lower-case name of letters, digits and '_'");
  }
  storage.notifies = values.boolean("notify");
  storage.password = given.password;
  return storage;
}

HangfireSink::HangfireSink(StorageSettings storage, JobMap map)
    : storage_(std::move(storage)),
      map_(std::move(map)),
      session_(storage_.location, options_of(storage_), "hangfire",
               postgresql::Session::Needs::nothing) {}

bool HangfireSink::set_time_left(Instant deadline) {
  const auto left = std::chrono::duration_cast<Millis>(deadline - std::chrono::steady_clock::now());
  if (left <= Millis{0}) return false;
  session_.set_timeout(left);
  return true;
}

void HangfireSink::deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
                           std::span<Outcome> outcomes) {
  PILLARBOX_ASSERT(batch.size() == outcomes.size());
  std::vector<Item> items;
  items.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto made = job_of(map_, batch[i]);
    if (auto* refused = std::get_if<Outcome>(&made)) {
      outcomes[i] = std::move(*refused);
    } else {
      items.push_back({&batch[i], &outcomes[i], std::move(std::get<Job>(made))});
    }
  }
  if (items.empty()) return;
  if (limits.may_start()) return hand_over(items, limits, std::chrono::steady_clock::now());
  for (const Item& item : items) *item.outcome = Outcome::not_sent("no job was made");
}

// All in one transaction; when a value in it is refused, by halves, until the message that brought
// it stands alone.
void HangfireSink::hand_over(std::span<Item> items, const DeliveryLimits& limits, Instant began) {
  Outcome failure = *items.front().outcome;
  for (int attempt = 1;; ++attempt) {
    session_.set_timeout(limits.timeout);
    try {
      if (!ledger_is_there_) make_ledger();
      hand_over_once(items);
      return;
    } catch (const Error& error) {
      failure = outcome_of(error);
      const bool may_sort_out = limits.may_sort_out(began);
      if (error.kind() == ErrorKind::conflict && attempt < kConflictsMax && may_sort_out) continue;
      if (is_about_data(error) && items.size() > 1) {
        // Its attempt counts for each of them: else the one at fault could come back for ever.
        failure = Outcome::transient("batch_" + failure.code, failure.error);
        for (const Item& item : items) *item.outcome = failure;
        if (!may_sort_out) return;
        hand_over(items.first(items.size() / 2), limits, began);
        hand_over(items.subspan(items.size() / 2), limits, began);
        return;
      }
      ledger_is_there_ = ledger_is_there_ && error.kind() != ErrorKind::schema;
      break;
    }
  }
  for (const Item& item : items) *item.outcome = failure;
}

void HangfireSink::hand_over_once(std::span<Item> items) {
  std::vector<MessageId> ids;
  std::vector<std::int64_t> lives;
  std::vector<std::string_view> invocations;
  std::vector<std::string_view> arguments;
  std::vector<std::string_view> parameters;
  std::vector<std::string_view> queues;
  std::vector<std::string_view> reasons;
  for (const Item& item : items) {
    ids.push_back(item.message->message_id);
    lives.push_back(item.message->life);
    invocations.emplace_back(item.job.invocation);
    arguments.emplace_back(item.job.arguments);
    parameters.emplace_back(item.job.parameters);
    queues.emplace_back(map_.queue);
    reasons.emplace_back(item.job.reason);
  }
  std::vector<Call> calls;
  calls.push_back({"hangfire_path", {}});
  calls.back().parameters.text(storage_.storage_schema);
  calls.push_back({"hangfire_enqueue", {}});
  calls.back()
      .parameters.text(storage_.sink)
      .uuid_array(ids)
      .int8_array(lives)
      .text_array(invocations)
      .text_array(arguments)
      .text_array(parameters)
      .text_array(queues)
      .text_array(reasons);
  if (storage_.notifies) calls.push_back({"hangfire_notify", {}});
  const std::vector<Result> answers = session_.transaction("hangfire hand-over", std::move(calls));
  const Result& rows = answers[1];
  for (std::size_t i = 0; i < items.size(); ++i) {
    PILLARBOX_ASSERT(rows.uuid(static_cast<int>(i), 0) == items[i].message->message_id);
    *items[i].outcome = Outcome::delivered();
    items[i].outcome->duplicate_absorbed = !rows.boolean(static_cast<int>(i), 1);
  }
}

void HangfireSink::make_ledger() {
  if (!session_.call("hangfire ledger", {"hangfire_ledger", {}}).boolean(0, 0)) {
    session_.execute("hangfire ledger",
                     sql::in_schema(sql::statement(sql::postgresql_files(), "handover.sql"),
                                    storage_.location.schema));
  }
  ledger_is_there_ = true;
}

std::string HangfireSink::probe(Instant deadline) {
  if (!set_time_left(deadline))
    throw Error(ErrorKind::timeout, "PBX-5004", "sink \"" + storage_.sink + "\": no time left");
  std::vector<Call> calls;
  calls.push_back({"hangfire_path", {}});
  calls.back().parameters.text(storage_.storage_schema);
  calls.push_back({"hangfire_version", {}});
  calls.back().parameters.text(map_.queue);
  try {
    const std::vector<Result> answers = session_.transaction("hangfire probe", std::move(calls));
    const std::int64_t version = answers[1].integer(0, 0);
    const std::int64_t servers = answers[1].integer(0, 1);
    std::string text = "Hangfire's schema has version " + std::to_string(version);
    if (version < kOldestVersion || version > kNewestVersion)
      text += " (tried are " + std::to_string(kOldestVersion) + " to " +
              std::to_string(kNewestVersion) + ")";
    text +=
        servers == 0
            ? ", but no server listens on queue \"" + map_.queue + "\": jobs will wait there"
            : ", " + std::to_string(servers) + " servers listen on queue \"" + map_.queue + "\"";
    return text;
  } catch (const Error& error) {
    throw Error(ErrorKind::unreachable, "PBX-5004",
                "sink \"" + storage_.sink + "\": " + outcome_of(error).error,
                {.native_code = std::string(error.native_code())});
  }
}

}  // namespace pillarbox::hangfire
