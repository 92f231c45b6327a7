// SPDX-License-Identifier: Apache-2.0
// status, relay, route
#include <algorithm>
#include <chrono>
#include <map>

#include "cli/actions.h"
#include "cli/interrupt.h"
#include "core/type_pattern.h"
#include "core/units.h"
#include "core/url.h"
#include "json/json.h"
#include "sink/registry.h"

namespace pillarbox::cli {
namespace {

constexpr std::int64_t kRelaySilentUs = 30'000'000;  // six heartbeats

std::string counted(std::int64_t count) {
  if (count >= Overview::kCountCap) return "10 000+";
  std::string digits = std::to_string(count);
  if (digits.size() > 3) digits.insert(digits.size() - 3, " ");
  return digits;
}

struct Look {
  Overview overview;
  std::vector<BrakeRow> brakes;
  std::vector<RelayRow> alive;
  std::vector<TypeCount> unroutable;
  std::vector<std::pair<std::string, std::int64_t>> errors;  // of what retries, the most first
  Millis oldest{0};
  std::string verdict;  // ok, warn, error, paused
  std::string cause;
};

const RouteSettings* route_for(const std::vector<RouteSettings>& routes, const std::string& type) {
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const RouteSettings& r) {
    return core::matches_type(r.type, type);
  });
  return found == routes.end() ? nullptr : &*found;
}

void judge(Look& look) {
  const Overview& o = look.overview;
  const std::int64_t waiting = o.ready + o.retrying + o.held + o.braked;
  const bool all_braked = std::any_of(look.brakes.begin(), look.brakes.end(),
                                      [](const BrakeRow& b) { return b.scope == "all"; });
  look.verdict = "ok";
  if (!look.unroutable.empty()) {
    look.verdict = "warn";
    look.cause = "no route for type \"" + look.unroutable.front().job_type + "\" (" +
                 counted(look.unroutable.front().waiting) + " wait); add a [[route]] for it";
  }
  if (o.dead > 0) {
    look.verdict = "warn";
    if (look.cause.empty())
      look.cause = counted(o.dead) + " dead letters; pillarbox dead groups says why";
  }
  if (o.retrying > 0 && !look.errors.empty()) {
    look.verdict = "warn";
    look.cause =
        counted(o.retrying) + " wait for another attempt; most often: " + look.errors.front().first;
  }
  if (!look.brakes.empty()) {
    const BrakeRow& b = look.brakes.front();
    look.verdict = all_braked ? "paused" : "warn";
    look.cause = "the brake is on for " + b.scope + " (" + b.set_by +
                 (b.reason.empty() ? "" : ": " + b.reason) + ")";
  }
  if (waiting > 0 && look.alive.empty()) {
    look.verdict = "error";
    look.cause = "no relay is alive; start one: pillarbox run";
  }
}

Look look_at(Context& context) {
  Look look;
  StoreAdmin& admin = context.admin();
  look.overview = admin.overview();
  look.brakes = admin.brakes();
  for (RelayRow& relay : admin.relays()) {
    if (to_int(look.overview.now) - to_int(relay.heartbeat_at) < kRelaySilentUs)
      look.alive.push_back(std::move(relay));
  }
  const auto& routes = context.configuration().relay.routes;
  if (!routes.empty()) {
    for (const TypeCount& type : look.overview.waiting_types) {
      if (route_for(routes, type.job_type) == nullptr) look.unroutable.push_back(type);
    }
  }
  if (look.overview.retrying > 0) {
    Filter retrying;
    retrying.views = {"retrying"};
    std::map<std::string, std::int64_t> counts;
    for (const MessageRow& row : admin.list(retrying, Page{}).rows) {
      if (!row.last_error.empty()) ++counts[row.last_error];
    }
    look.errors.assign(counts.begin(), counts.end());
    std::stable_sort(look.errors.begin(), look.errors.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }
  if (look.overview.oldest_ready_at) {
    look.oldest =
        Millis((to_int(look.overview.now) - to_int(*look.overview.oldest_ready_at)) / 1'000);
  }
  judge(look);
  return look;
}

void write_text(Context& context, const Look& look) {
  const Overview& o = look.overview;
  const std::int64_t waiting = o.ready + o.retrying + o.held + o.braked + o.claimed;
  const Colour colour = look.verdict == "ok"      ? Colour::green
                        : look.verdict == "error" ? Colour::red
                                                  : Colour::yellow;
  const std::string& name = context.outbox().name;
  const std::string pad(name.size() + 2, ' ');
  std::string out = name + "  " + coloured(context.style(), colour, look.verdict) + "  " +
                    counted(waiting) + " waiting";
  if (o.oldest_ready_at) out += " · oldest " + core::describe_duration(look.oldest);
  out += " · " + counted(o.dispatched_last_minute) + " dispatched in the last minute";
  if (o.dispatched_last_minute > 0 && o.ready + o.retrying > 100) {
    out +=
        " · empty in about " +
        core::describe_duration(Millis(60'000 * (o.ready + o.retrying) / o.dispatched_last_minute));
  }
  out += "\n";
  if (!look.cause.empty()) out += pad + "cause  " + printable(look.cause) + "\n";
  out += pad + "ready " + counted(o.ready) + " · retrying " + counted(o.retrying) + " · delayed " +
         counted(o.delayed) + " · held " + counted(o.held) + " · braked " + counted(o.braked) +
         " · claimed " + counted(o.claimed) + " · dead " + counted(o.dead) +
         (o.dead_last_day > 0 ? " (" + counted(o.dead_last_day) + " in the last day)" : "") + "\n";
  out += pad + "relays " + std::to_string(look.alive.size()) + " alive";
  for (std::size_t i = 0; i < look.alive.size() && i < 5; ++i) {
    out += (i == 0 ? " (" : ", ") + look.alive[i].claimed_by +
           (look.alive[i].draining ? " draining" : "");
  }
  if (!look.alive.empty()) out += ")";
  out += " · brake ";
  out += look.brakes.empty() ? "off" : "on for";
  for (const BrakeRow& b : look.brakes) out += " " + b.scope;
  out += "\n";
  for (const TypeCount& type : look.unroutable) {
    out +=
        pad + "no route for " + printable(type.job_type) + ": " + counted(type.waiting) + " held\n";
  }
  write_out(out);
  if (o.dead > 0) context.say("Look at the dead ones:  pillarbox dead groups");
}

void write_json(const Look& look) {
  const Overview& o = look.overview;
  json::Writer w;
  w.begin_object().field("verdict", look.verdict).field("cause", look.cause);
  w.key("now").raw(cell_json(Cell(o.now)));
  w.field("ready", o.ready)
      .field("retrying", o.retrying)
      .field("delayed", o.delayed)
      .field("held", o.held);
  w.field("braked", o.braked)
      .field("claimed", o.claimed)
      .field("dead", o.dead)
      .field("dead_last_day", o.dead_last_day);
  w.field("count_cap", Overview::kCountCap)
      .field("dispatched_last_minute", o.dispatched_last_minute);
  w.key("oldest_ready_age_ms");
  if (o.oldest_ready_at) {
    w.number(look.oldest.count());
  } else {
    w.null();
  }
  w.key("relays").begin_array();
  for (const RelayRow& r : look.alive) w.string(r.claimed_by);
  w.end_array().key("brakes").begin_array();
  for (const BrakeRow& b : look.brakes) w.string(b.scope);
  w.end_array().key("unroutable").begin_array();
  for (const TypeCount& t : look.unroutable)
    w.begin_object().field("job_type", t.job_type).field("waiting", t.waiting).end_object();
  w.end_array().end_object();
  write_out(w.text() + "\n");
}

}  // namespace

int status(Context& context, const Arguments& arguments) {
  const Millis max_age(duration_ms_of(arguments, "max-age", 300'000));
  const std::int64_t max_dead = number_of(arguments, "max-dead", 0, 0, INT64_MAX);
  const Interrupt interrupt;
  for (;;) {
    const Look look = look_at(context);
    const bool watching = arguments.has("watch") && context.style().terminal;
    if (watching) write_out("\x1b[H\x1b[2J");
    if (context.style().format == Format::json || context.style().format == Format::ndjson) {
      write_json(look);
    } else {
      write_text(context, look);
    }
    if (!arguments.has("watch")) {
      if (!arguments.has("check")) return kDone;
      std::string wrong;
      if (look.oldest > max_age)
        wrong = "the oldest ready message is " + core::describe_duration(look.oldest) + " old";
      if (look.overview.dead > max_dead)
        wrong += (wrong.empty() ? "" : "; ") + counted(look.overview.dead) + " dead letters";
      if (look.verdict == "error") wrong += (wrong.empty() ? "" : "; ") + look.cause;
      if (wrong.empty()) return kDone;
      context.say("check failed: " + wrong);
      return kCheckFailed;
    }
    interrupt.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(2));
    if (interrupt.asked()) return kDone;
  }
}

int relay_list(Context& context, const Arguments&) {
  const Overview overview = context.admin().overview();
  Table table({{"claimed_by"},
               {"version"},
               {"workers"},
               {"leases_held"},
               {"started_at"},
               {"heartbeat_at"},
               {"state"}});
  for (const RelayRow& r : context.admin().relays()) {
    const bool silent = to_int(overview.now) - to_int(r.heartbeat_at) >= kRelaySilentUs;
    table.add({r.claimed_by, r.version, std::int64_t{r.workers}, r.leases_held, Cell(r.started_at),
               Cell(r.heartbeat_at),
               std::string(silent       ? "silent"
                           : r.draining ? "draining"
                                        : "alive")});
  }
  table.write(context.style(), overview.now);
  return kDone;
}

int relay_drain(Context& context, const Arguments& arguments) {
  if (!context.admin().ask_to_drain(arguments.words.front())) {
    throw Error(ErrorKind::not_found, "PBX-6003",
                "there is no relay " + arguments.words.front() + "; see: pillarbox relay list");
  }
  context.say("asked; it ends with its next heartbeat");
  return kDone;
}

int route_list(Context& context, const Arguments&) {
  const auto& relay = context.configuration().relay;
  const Overview overview = context.admin().overview();
  const std::vector<BrakeRow> brakes = context.admin().brakes();
  Table table({{"name"},
               {"type"},
               {"sink"},
               {"url"},
               {"waiting"},
               {"brake"},
               {"on_dead", true},
               {"timeout", true}});
  for (const RouteSettings& route : relay.routes) {
    std::int64_t waiting = 0;
    for (const TypeCount& type : overview.waiting_types) {
      if (route_for(relay.routes, type.job_type) == &route) waiting += type.waiting;
    }
    const bool braked = std::any_of(brakes.begin(), brakes.end(), [&](const BrakeRow& b) {
      return b.scope == "all" || b.scope == "type:" + route.type;
    });
    const auto sink = std::find_if(relay.sinks.begin(), relay.sinks.end(),
                                   [&](const auto& s) { return s.name == route.sink; });
    table.add({route.name, route.type, route.sink,
               sink == relay.sinks.end() ? "" : core::redact_url(sink->url), waiting,
               std::string(braked ? "on" : "off"), std::string(to_string(route.on_dead)),
               core::format_duration(route.timeout)});
  }
  table.write(context.style(), {});
  return kDone;
}

int route_test(Context& context, const Arguments& arguments) {
  const auto& relay = context.configuration().relay;
  for (const RouteSettings& route : relay.routes) {
    if (route.name != arguments.words.front()) continue;
    const auto sink = std::find_if(relay.sinks.begin(), relay.sinks.end(),
                                   [&](const auto& s) { return s.name == route.sink; });
    if (sink == relay.sinks.end()) break;
    SinkSettings settings;
    settings.name = sink->name;
    settings.outbox = context.outbox().name;
    settings.url = sink->url;
    settings.sink = sink->settings;
    settings.route = route.parameters;
    settings.secrets = sink->secrets;
    settings.password = sink->password;
    const SinkFactory& factory = sink_factory_for(sink->url);
    write_out(factory.probe(settings, std::chrono::steady_clock::now() + route.timeout) + "\n" +
              std::string(factory.acknowledgement()) + "\n");
    return kDone;
  }
  throw Error(ErrorKind::not_found, "PBX-6004",
              "there is no route " + arguments.words.front() + "; see: pillarbox route list");
}

}  // namespace pillarbox::cli
