// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/units.h"

namespace pillarbox::config {
namespace {

using MaybeProblem = std::optional<std::string>;

std::optional<std::int64_t> read_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Get>
auto integer(std::int64_t low, std::int64_t high, Get get) {
  return [=](Configuration& c, const std::string& text) -> MaybeProblem {
    const auto value = read_integer(text);
    if (!value || *value < low || *value > high) {
      return "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    }
    auto& target = get(c);
    target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
    return std::nullopt;
  };
}

template <class Get>
auto duration(Millis low, Millis high, Get get) {
  return [=](Configuration& c, const std::string& text) -> MaybeProblem {
    const auto value = core::parse_duration(text);
    if (!value || *value < low || *value > high) {
      return "must be a duration from " + core::format_duration(low) + " to " +
             core::format_duration(high) + ", as in 500ms, 5s, 2m, 1h, 7d";
    }
    get(c) = *value;
    return std::nullopt;
  };
}

template <class Get>
auto duration_or_never(Get get) {
  return [=](Configuration& c, const std::string& text) -> MaybeProblem {
    if (text == "never") {
      get(c) = std::nullopt;
      return std::nullopt;
    }
    const auto value = core::parse_duration(text);
    if (!value) return "must be a duration, as in 7d, or never";
    get(c) = *value;
    return std::nullopt;
  };
}

template <class Get>
auto size(std::uint64_t low, std::uint64_t high, Get get) {
  return [=](Configuration& c, const std::string& text) -> MaybeProblem {
    const auto value = core::parse_size(text);
    if (!value || *value < low || *value > high) {
      return "must be a size from " + core::format_size(low) + " to " + core::format_size(high) +
             ", as in 64KiB, 8MiB";
    }
    get(c) = static_cast<std::size_t>(*value);
    return std::nullopt;
  };
}

template <class Get>
auto choice(const std::vector<std::string>& words, Get get) {
  return [=](Configuration& c, const std::string& text) -> MaybeProblem {
    if (std::find(words.begin(), words.end(), text) == words.end()) {
      std::string all;
      for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
      return "must be one of " + all;
    }
    get(c) = text;
    return std::nullopt;
  };
}

constexpr Millis kDay{86'400'000};

const std::vector<Setting>& table() {
  using C = Configuration;
  static const std::vector<Setting> kRows = {
      {"relay", "workers", Type::integer, "2", "1 to 64",
       "Workers of each outbox: each has a connection of its own and delivers one batch at a time.",
       integer(1, 64, [](C& c) -> std::size_t& { return c.relay.workers; })},
      {"relay", "batch_size", Type::integer, "500", "1 to 10000", "Messages in one claim, at most.",
       integer(1, 10'000, [](C& c) -> std::size_t& { return c.relay.batch_size; })},
      {"relay", "batch_bytes", Type::size, "8MiB", "1KiB to 1GiB",
       "Payload bytes in one claim, at most. Bounds a worker's memory; one message is always "
       "taken.",
       size(1ULL << 10U, 1ULL << 30U, [](C& c) -> std::size_t& { return c.relay.batch_bytes; })},
      {"relay", "lease", Type::duration, "60s", "10s to 1d",
       "How long a claim lasts if its relay is not heard of. At least the slowest route's timeout "
       "+ 10s.",
       duration(Millis{10'000}, kDay, [](C& c) -> Millis& { return c.relay.lease; })},
      {"relay", "poll_interval", Type::duration, "1s", "10ms to 1h",
       "How often an idle worker looks without having been woken.",
       duration(Millis{10}, Millis{3'600'000},
                [](C& c) -> Millis& { return c.relay.poll_interval; })},
      {"relay", "drain_timeout", Type::duration, "25s", "0 to 1h",
       "How long a stop waits for deliveries in flight before it gives the rest back.",
       duration(Millis{0}, Millis{3'600'000},
                [](C& c) -> Millis& { return c.relay.drain_timeout; })},
      {"relay", "heartbeat_interval", Type::duration, "5s", "1s to 1m",
       "How often a relay writes that it lives.",
       duration(Millis{1'000}, Millis{60'000},
                [](C& c) -> Millis& { return c.relay.heartbeat_interval; })},
      {"relay", "purge_interval", Type::duration, "1m", "1s to 1d",
       "How often what is past its retention is removed.",
       duration(Millis{1'000}, kDay, [](C& c) -> Millis& { return c.relay.purge_interval; })},
      {"retry", "max_attempts", Type::integer, "20", "1 to 10000",
       "Attempts at a message before it is dead. An unreachable sink spends none.",
       integer(1, 10'000, [](C& c) -> std::int32_t& { return c.relay.retry.max_attempts; })},
      {"retry", "base", Type::duration, "2s", "1ms to 1d",
       "The first wait after a failed attempt, at most; it doubles.",
       duration(Millis{1}, kDay, [](C& c) -> Millis& { return c.relay.retry.base; })},
      {"retry", "cap", Type::duration, "1h", "1ms to 30d",
       "No wait is longer. Full jitter below it.",
       duration(Millis{1}, 30 * kDay, [](C& c) -> Millis& { return c.relay.retry.cap; })},
      {"retention", "dispatched", Type::duration_or_never, "7d", "a duration or never",
       "How long dispatched messages are kept. 0: they leave when they are settled.",
       duration_or_never(
           [](C& c) -> std::optional<Millis>& { return c.relay.retention.dispatched; })},
      {"retention", "dead", Type::duration_or_never, "never", "a duration or never",
       "How long dead letters are kept. Those that hold a key stay.",
       duration_or_never([](C& c) -> std::optional<Millis>& { return c.relay.retention.dead; })},
      {"retention", "tombstones", Type::duration_or_never, "30d", "a duration or never",
       "How long it is remembered what was discarded.",
       duration_or_never(
           [](C& c) -> std::optional<Millis>& { return c.relay.retention.tombstones; })},
      {"retention", "inbox", Type::duration_or_never, "14d", "a duration or never",
       "How long consumers in this database remember what they handled. Longer than any redelivery "
       "can take.",
       duration_or_never([](C& c) -> std::optional<Millis>& { return c.relay.retention.inbox; })},
      {"log", "level", Type::choice, "info", "debug|info|warn|error", "What is logged to stderr.",
       choice({"debug", "info", "warn", "error"},
              [](C& c) -> std::string& { return c.log_level; })},
      {"log", "format", Type::choice, "auto", "auto|json|text",
       "auto: text on a terminal, else JSON.",
       choice({"auto", "json", "text"}, [](C& c) -> std::string& { return c.log_format; })},
  };
  return kRows;
}

constexpr KeyHelp kOutboxKeys[] = {
    {"name", "text", "outbox", "Shown everywhere; must differ between outboxes."},
    {"store", "URL", "", "sqlite:app.db, postgresql://user@host/db. See `pillarbox help urls`."},
    {"password", "secret", "",
     "{ file = \"…\" }, { env = \"NAME\" } or { credential = \"name\" }; read for each "
     "connection."},
};
constexpr KeyHelp kSinkKeys[] = {
    {"url", "URL", "", "https://…, file:/path, stdout:, null:"},
    {"password", "secret", "", "For the sink's login, where its kind has one."},
    {"secrets", "list of secrets", "", "Signing keys, current ones first; two while rotating."},
    {"timeout", "duration", "20s",
     "Of one call to the sink, such as a request, from its start; routes may set their own."},
};
constexpr KeyHelp kRouteKeys[] = {
    {"type", "pattern", "*",
     "A job type, or a prefix with one '*' at its end. The first route that matches is taken."},
    {"sink", "name", "", "Of a [sink.NAME]."},
    {"name", "text", "the sink's name", "For logs and metrics."},
    {"on_dead", "hold|skip|park", "hold",
     "What a dead message does to later ones of its ordering_key."},
    {"concurrency", "integer", "0",
     "Deliveries of one relay at once; 0: as many as it has workers."},
    {"batch_max", "integer", "0", "Messages in one call to the sink; 0: as claimed."},
    {"timeout", "duration", "the sink's", "Of one call to the sink, from its start."},
    {"max_attempts", "integer", "retry.max_attempts", "For this route."},
};

}  // namespace

std::span<const Setting> settings() { return table(); }

const Setting* find_setting(std::string_view section, std::string_view name) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Setting& s) {
    return s.section == section && s.name == name;
  });
  return found == table().end() ? nullptr : &*found;
}

std::span<const KeyHelp> outbox_keys() { return kOutboxKeys; }
std::span<const KeyHelp> sink_keys() { return kSinkKeys; }
std::span<const KeyHelp> route_keys() { return kRouteKeys; }

}  // namespace pillarbox::config
