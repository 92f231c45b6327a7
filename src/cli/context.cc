// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "core/suggest.h"
#include "core/type_pattern.h"
#include "core/units.h"
#include "store/registry.h"

extern char** environ;

namespace pillarbox::cli {
namespace {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> our_variables() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("PILLARBOX_")) out.emplace_back(text.substr(0, text.find('=')));
  }
  return out;
}

bool wants_colour(const Arguments& arguments) {
  if (arguments.has("no-color") || environment("NO_COLOR")) return false;
  if (environment("CLICOLOR_FORCE").value_or("0") != "0") return true;
  return ::isatty(STDOUT_FILENO) == 1 && environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace

Context::Context(const Arguments& arguments)
    : arguments_(arguments), quiet_(arguments.has("quiet")) {
  style_.terminal = ::isatty(STDOUT_FILENO) == 1;
  style_.colour = wants_colour(arguments);
  const std::string format =
      arguments.has("json") ? "json"
                            : arguments.get("output").value_or(style_.terminal ? "table" : "tsv");
  constexpr std::array<std::string_view, 5> kFormats = {"table", "tsv", "json", "ndjson", "id"};
  const auto found = std::find(kFormats.begin(), kFormats.end(), format);
  style_.format = static_cast<Format>(found - kFormats.begin());
}

const config::Configuration& Context::configuration(bool needs_outbox) {
  if (configuration_) return *configuration_;
  config::Source source;
  source.path = arguments_.get("config");
  source.store_url = arguments_.get("store");
  source.sink_url = arguments_.get("sink");
  source.environment = environment;
  source.environment_names = our_variables();
  source.needs_outbox = needs_outbox;
  for (const std::string& pair : arguments_.all("set")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      throw UsageError("--set is \"" + pair + "\"; it must be KEY=VALUE, as in relay.workers=4");
    source.overrides[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  config::Loaded loaded = config::load(source);
  if (!loaded.configuration) throw ConfigurationRefused(config::describe(loaded.problems));
  for (const auto& [key, value] : source.overrides) {
    const auto& values = loaded.configuration->values;
    if (std::none_of(values.begin(), values.end(),
                     [&wanted = key](const config::Value& v) { return v.key == wanted; })) {
      std::vector<std::string_view> names;
      names.reserve(values.size());
      for (const config::Value& v : values) names.push_back(v.key);
      const std::string near = core::nearest_name(key, names);
      throw UsageError("--set " + key + ": there is no such setting" +
                       (near.empty() ? "" : "; did you mean " + near + "?"));
    }
  }
  configuration_ = std::move(loaded.configuration);
  return *configuration_;
}

const OutboxSettings& Context::outbox() {
  const auto& outboxes = configuration().relay.outboxes;
  const auto wanted = arguments_.get("outbox");
  if (!wanted) {
    if (outboxes.size() == 1) return outboxes.front();
    std::string names;
    for (const OutboxSettings& o : outboxes) names += " " + o.name;
    throw UsageError("there are several outboxes; name one with --outbox:" + names);
  }
  for (const OutboxSettings& o : outboxes) {
    if (o.name == *wanted) return o;
  }
  std::vector<std::string_view> names;
  names.reserve(outboxes.size());
  for (const OutboxSettings& o : outboxes) names.push_back(o.name);
  const std::string near = core::nearest_name(*wanted, names);
  throw UsageError("there is no outbox \"" + *wanted + "\"" +
                   (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

StoreOptions Context::store_options() {
  StoreOptions options = outbox().store;
  options.connect_timeout =
      Millis(duration_ms_of(arguments_, "timeout", options.connect_timeout.count()));
  options.call_timeout =
      Millis(duration_ms_of(arguments_, "timeout", options.call_timeout.count()));
  return options;
}

const StoreFactory& Context::factory() { return store_factory_for(outbox().store.url); }

StoreAdmin& Context::admin() {
  if (!admin_) admin_ = factory().connect_admin(store_options());
  return *admin_;
}

std::string Context::who() {
  std::string user = environment("SUDO_USER").value_or("");
  if (user.empty()) {
    const passwd* entry = ::getpwuid(::getuid());  // one thread
    user = entry != nullptr ? entry->pw_name : std::to_string(::getuid());
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  return user + "@" + host.data();
}

void Context::say(std::string_view text) const {
  if (!quiet_) std::cerr << text << '\n';
}

bool Context::confirm(const std::string& question, std::optional<std::int64_t> type_the_count) {
  if (arguments_.has("yes")) return true;
  if (arguments_.has("no-input") || ::isatty(STDIN_FILENO) != 1) throw Declined();
  std::string answer;
  if (type_the_count) {
    std::cerr << question << " Type the count, " << *type_the_count << ", to go on: ";
    std::getline(std::cin, answer);
    return answer == std::to_string(*type_the_count);
  }
  std::cerr << question << " [y/N] ";
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Filter Context::filter_of(const Arguments& arguments) {
  std::string text;
  for (const std::string& one : arguments.all("filter")) text += (text.empty() ? "" : " ") + one;
  core::ParsedFilter parsed = core::parse_filter(text);
  if (!parsed.problems.empty()) {
    std::string all = "--filter, ";
    for (const core::FilterProblem& problem : parsed.problems) {
      all += (all.ends_with(", ") ? "" : "; ") + std::string("character ") +
             std::to_string(problem.position) + ": " + problem.text;
    }
    throw UsageError(all);
  }
  if (!parsed.routes.empty() && !parsed.filter.job_types.empty()) {
    throw UsageError("--filter: give route or type, not both: a route stands for its type");
  }
  for (const std::string& name : parsed.routes) {
    bool found = false;
    for (const RouteSettings& route : configuration().relay.routes) {
      if (route.name != name) continue;
      found = true;
      parsed.filter.job_types.push_back(route.type);
    }
    if (!found)
      throw UsageError("--filter: there is no route \"" + name + "\" in the configuration");
  }
  return parsed.filter;
}

RowId Context::resolve(const std::string& id) {
  if (const auto message_id = MessageId::parse(id)) {
    if (const auto found = admin().find(*message_id)) return *found;
    throw Error(ErrorKind::not_found, "PBX-6001", "there is no message " + id);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size() || number <= 0) {
    throw UsageError("\"" + id + "\" is no id; it must be a row's number or a message_id (UUID)");
  }
  return RowId(number);
}

}  // namespace pillarbox::cli
