// SPDX-License-Identifier: Apache-2.0
// replay, discard, release; pause, resume; purge
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>

#include "cli/actions.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "core/units.h"
#include "core/utf8.h"
#include "json/json.h"

namespace pillarbox::cli {
namespace {

constexpr std::size_t kBatch = 500;
constexpr std::int64_t kTypedCountFrom = 1'000;

struct Act {
  std::string_view verb;  // "replay"
  std::string_view past;  // "replayed"
  std::vector<Status> allowed;
  ActResult (StoreAdmin::*run)(std::span<const ActTarget>, std::string_view, std::string_view);
  bool destroys;
};

// What is to be touched: drawn once, so that rows which come later are left alone.
struct Drawn {
  std::vector<ActTarget> targets;
  std::int64_t not_eligible = 0;
  bool truncated = false;  // the search saw only the newest rows; there may be more
};

std::vector<std::string> ids_from_input() {
  std::vector<std::string> ids;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) ids.push_back(line.substr(0, line.find('\t')));
  }
  return ids;
}

void take(Drawn& drawn, const MessageRow& row, const Act& act) {
  if (std::find(act.allowed.begin(), act.allowed.end(), row.status) == act.allowed.end()) {
    ++drawn.not_eligible;
  } else {
    drawn.targets.push_back(ActTarget{row.id, row.claim_no});
  }
}

Drawn draw(Context& context, const Arguments& arguments, const Act& act) {
  Drawn drawn;
  std::vector<std::string> ids = arguments.words;
  if (const auto from = arguments.get("ids")) {
    if (*from != "-") throw UsageError("--ids takes \"-\": ids from standard input");
    const auto more = ids_from_input();
    ids.insert(ids.end(), more.begin(), more.end());
  }
  if (ids.empty() && !arguments.has("filter")) {
    throw UsageError("which messages? Give ids, --ids - or --filter; see: pillarbox " +
                     std::string(act.verb) + " --help");
  }
  if (!ids.empty() && arguments.has("filter")) throw UsageError("give ids or --filter, not both");
  if (!ids.empty()) {
    for (const std::string& id : ids) {
      Filter one;
      one.ids = {context.resolve(id)};
      const MessageList list = context.admin().list(one, Page{});
      if (list.rows.empty())
        throw Error(ErrorKind::not_found, "PBX-6001", "there is no message " + id);
      take(drawn, list.rows.front(), act);
    }
    return drawn;
  }
  Filter filter = context.filter_of(arguments);
  if (filter.statuses.empty() && filter.views.empty()) filter.statuses = act.allowed;
  Page page;
  page.limit = kBatch;
  for (;;) {
    const MessageList list = context.admin().list(filter, page);
    for (const MessageRow& row : list.rows) take(drawn, row, act);
    drawn.truncated = list.truncated && !list.next;
    if (!list.next) break;
    page.before = *list.next;
  }
  // Lists come newest first; what is brought back should go out in its old order.
  std::reverse(drawn.targets.begin(), drawn.targets.end());
  return drawn;
}

void export_to(Context& context, const std::string& path, const Drawn& drawn) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file)
    throw Error(ErrorKind::refused, "PBX-6002", "--export " + path + ": " + std::strerror(errno));
  for (const ActTarget& target : drawn.targets) {
    const auto detail = context.admin().show(target.id, true);
    if (!detail) continue;
    std::string line = message_json(detail->row);
    line.pop_back();
    file << line << ",\"payload\":"
         << (core::utf8_length(detail->payload) ? json::quoted(detail->payload)
                                                : std::string("null"))
         << "}\n";
  }
  file.flush();
  if (!file)
    throw Error(ErrorKind::refused, "PBX-6002",
                "--export " + path + ": " + std::strerror(errno) + "; nothing was changed");
}

int perform(Context& context, const Arguments& arguments, const Act& act) {
  const std::int64_t rate = number_of(arguments, "rate", 0, 1, 1'000'000);
  const Drawn drawn = draw(context, arguments, act);
  const auto total = static_cast<std::int64_t>(drawn.targets.size());
  const std::string verb(act.verb);
  const std::string of =
      std::to_string(total) + " of " + std::to_string(total + drawn.not_eligible);
  if (drawn.truncated)
    context.say(
        "the search ended after the newest 10 000 rows, there may be more: narrow it by id, key, "
        "type or status, or repeat");
  if (arguments.has("dry-run")) {
    context.say("would " + verb + " " + of + "; nothing changed");
    return kDone;
  }
  if (total == 0) {
    context.say("nothing to " + verb + ": " + of + " can be");
    return drawn.not_eligible > 0 ? kFailed : kDone;
  }
  const bool asks = total > 1 || act.destroys;
  if (asks) {
    const bool yes = context.confirm("This will " + verb + " " + of + " messages.",
                                     total > kTypedCountFrom ? std::optional(total) : std::nullopt);
    if (!yes) throw Declined();
  }
  if (const auto path = arguments.get("export")) export_to(context, *path, drawn);
  const std::string why = arguments.get("reason").value_or("");
  const Interrupt interrupt;
  Progress progress(context, std::string(act.past), total);
  ActResult sum;
  for (std::size_t at = 0; at < drawn.targets.size();) {
    const std::size_t limit =
        rate > 0 ? std::min<std::size_t>(kBatch, static_cast<std::size_t>(rate)) : kBatch;
    const std::size_t size = std::min(limit, drawn.targets.size() - at);
    const auto began = std::chrono::steady_clock::now();
    const ActResult one =
        (context.admin().*act.run)(std::span(drawn.targets).subspan(at, size), Context::who(), why);
    sum.done += one.done;
    sum.skipped += one.skipped;
    at += size;
    progress.at(static_cast<std::int64_t>(at));
    if (interrupt.asked() && at < drawn.targets.size()) {
      context.say("stopped after " + std::to_string(at) + " of " + std::to_string(total) +
                  "; repeat to continue");
      return kStoppedPartWay;
    }
    if (rate > 0 && at < drawn.targets.size()) {
      interrupt.wait_until(
          began + std::chrono::milliseconds(1'000 * static_cast<std::int64_t>(size) / rate));
    }
  }
  context.say(
      std::string(act.past) + " " + std::to_string(sum.done) +
      (sum.skipped > 0 ? ", left alone " + std::to_string(sum.skipped) + " that had moved on"
                       : "") +
      (drawn.not_eligible > 0 ? ", not eligible " + std::to_string(drawn.not_eligible) : ""));
  return sum.done == 0 ? kFailed : kDone;
}

std::vector<std::string> scopes_of(Context& context, const Arguments& arguments) {
  std::vector<std::string> scopes;
  if (arguments.has("all")) scopes.emplace_back("all");
  for (const std::string& type : arguments.all("type")) scopes.push_back("type:" + type);
  for (const std::string& name : arguments.all("route")) {
    const std::size_t before = scopes.size();
    for (const RouteSettings& route : context.configuration().relay.routes) {
      if (route.name == name) scopes.push_back("type:" + route.type);
    }
    if (scopes.size() == before)
      throw UsageError("--route: there is no route \"" + name + "\" in the configuration");
  }
  if (scopes.empty()) throw UsageError("of what? Give --all, --type or --route");
  return scopes;
}

}  // namespace

int replay(Context& c, const Arguments& a) {
  return perform(c, a, {"replay", "replayed", {Status::dead}, &StoreAdmin::replay, false});
}
int discard(Context& c, const Arguments& a) {
  return perform(
      c, a, {"discard", "discarded", {Status::dead, Status::pending}, &StoreAdmin::discard, true});
}
int release(Context& c, const Arguments& a) {
  return perform(c, a, {"release", "released", {Status::claimed}, &StoreAdmin::release, true});
}

int pause(Context& context, const Arguments& arguments) {
  const Millis wait(duration_ms_of(arguments, "wait", 60'000));
  const std::vector<std::string> scopes = scopes_of(context, arguments);
  const std::string why = arguments.get("reason").value_or("");
  for (const std::string& scope : scopes) context.admin().brake(scope, Context::who(), why);
  // No claim begins any more. What was claimed before may still be delivered: wait for its end.
  const auto until = std::chrono::steady_clock::now() + wait;
  const Interrupt interrupt;
  bool told = false;
  for (;;) {
    std::int64_t running = 0;
    for (const std::string& scope : scopes) running += context.admin().claimed_in_scope(scope);
    if (running == 0) break;
    if (interrupt.asked() || std::chrono::steady_clock::now() >= until) {
      context.say("the brake is set, but " + std::to_string(running) +
                  " messages are still being delivered; repeat to wait on");
      return kStoppedPartWay;
    }
    if (!std::exchange(told, true))
      context.say("the brake is set; waiting for " + std::to_string(running) +
                  " that are being delivered (at most " + core::format_duration(wait) + ")");
    interrupt.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  }
  std::string undo;
  for (const std::string& scope : scopes)
    undo += scope == "all" ? " --all" : " --type '" + scope.substr(scope.find(':') + 1) + "'";
  context.say("paused; producers go on, nothing is delivered. Undo:  pillarbox resume" + undo);
  return kDone;
}

int resume(Context& context, const Arguments& arguments) {
  bool any = false;
  for (const std::string& scope : scopes_of(context, arguments))
    any = context.admin().unbrake(scope, Context::who()) || any;
  context.say(any ? "resumed" : "no such brake was set");
  return any ? kDone : kNotFound;
}

int purge(Context& context, const Arguments&) {
  const Retention& keep = context.configuration().relay.retention;
  const std::tuple<PurgeKind, std::string_view, std::optional<Millis>> kinds[] = {
      {PurgeKind::dispatched, "dispatched", keep.dispatched},
      {PurgeKind::dead, "dead", keep.dead},
      {PurgeKind::tombstones, "tombstones", keep.tombstones},
      {PurgeKind::inbox, "inbox", keep.inbox}};
  const Interrupt interrupt;
  Progress progress(context, "removed", 0);
  std::int64_t all = 0;
  Table table({{"kind"}, {"older_than"}, {"removed"}});
  for (const auto& [kind, name, age] : kinds) {
    std::int64_t removed = 0;
    while (age && !interrupt.asked()) {
      const std::int64_t some = context.admin().purge(kind, *age, 1'000);
      removed += some;
      progress.at(all += some);
      if (some == 0) break;
    }
    table.add(
        {std::string(name), age ? core::format_duration(*age) : std::string("never"), removed});
  }
  table.write(context.style(), {});
  return interrupt.asked() ? kStoppedPartWay : kDone;
}

}  // namespace pillarbox::cli
