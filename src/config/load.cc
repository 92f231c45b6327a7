// SPDX-License-Identifier: Apache-2.0
// The only unit that includes toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "config/config.h"
#include "config/secret.h"
#include "config/settings.h"
#include "core/suggest.h"
#include "core/type_pattern.h"
#include "core/units.h"
#include "core/url.h"
#include "pillarbox/error.h"
#include "sink/registry.h"
#include "store/registry.h"

namespace pillarbox::config {
namespace {

constexpr Millis kLeaseMargin{10'000};
constexpr std::size_t kFileBytesMax = 1024 * 1024;

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

class Reader {
 public:
  Reader(const Source& source, std::string name) : source_(source), name_(std::move(name)) {}

  Loaded read(std::string_view text) {
    Configuration& c = loaded_.configuration.emplace();
    toml::table root;
    try {
      root = toml::parse(text, name_);
    } catch (const toml::parse_error& error) {
      problem(error.source().begin, std::string(error.description()));
    }
    if (loaded_.problems.empty()) {
      top_level(root);
      for (const Setting& setting : settings()) plain(root, setting, c);
      read_outboxes(root, c);
      read_sinks(root, c);
      read_routes(root, c);
      cross_checks(c);
    }
    std::stable_sort(loaded_.problems.begin(), loaded_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.line < b.line; });
    if (!loaded_.problems.empty()) loaded_.configuration.reset();
    return std::move(loaded_);
  }

 private:
  // ---- problems ----
  void problem(const toml::source_position& at, std::string text) {
    loaded_.problems.push_back(Problem{name_, at.line, at.column, std::move(text)});
  }
  void problem(const toml::node& node, std::string text) {
    problem(node.source().begin, std::move(text));
  }
  void problem_elsewhere(std::string where, std::string text) {
    loaded_.problems.push_back(Problem{std::move(where), 0, 0, std::move(text)});
  }
  void unknown(const toml::key& key, const std::string& path,
               const std::vector<std::string_view>& known) {
    std::string text = "unknown key \"" + path + "\"";
    const std::string near = core::nearest_name(key.str(), known);
    if (!near.empty()) text += "; did you mean \"" + near + "\"?";
    problem(key.source().begin, std::move(text));
  }
  void shown(std::string key, std::string text, std::string origin) {
    loaded_.configuration->values.push_back(
        Value{std::move(key), std::move(text), std::move(origin)});
  }
  static std::string line_of(const toml::node& node) {
    return "file:" + std::to_string(node.source().begin.line);
  }

  void top_level(const toml::table& root) {
    std::vector<std::string_view> sections = {"outbox", "sink", "route"};
    for (const Setting& setting : settings()) sections.push_back(setting.section);
    for (const auto& [key, node] : root) {
      if (std::find(sections.begin(), sections.end(), key.str()) == sections.end()) {
        unknown(key, std::string(key.str()), sections);
        continue;
      }
      const bool plain_section =
          key.str() != "outbox" && key.str() != "sink" && key.str() != "route";
      if (!plain_section) continue;
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        problem(node, "[" + std::string(key.str()) + "] must be a table, it is " + type_name(node));
        continue;
      }
      std::vector<std::string_view> names;
      for (const Setting& setting : settings()) {
        if (setting.section == key.str()) names.push_back(setting.name);
      }
      for (const auto& [name, value] : *table) {
        if (std::find(names.begin(), names.end(), name.str()) == names.end()) {
          unknown(name, std::string(key.str()) + "." + std::string(name.str()), names);
        }
      }
    }
  }

  // The text form of a scalar; nullopt, and a problem, for anything else.
  std::optional<std::string> scalar(const toml::node& node, const std::string& path) {
    if (const auto* s = node.as_string()) return s->get();
    if (const auto* i = node.as_integer()) return std::to_string(i->get());
    if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
    problem(node, "\"" + path + "\" must be a single value, it is " + type_name(node));
    return std::nullopt;
  }

  // ---- [relay], [retry] … ----
  void plain(const toml::table& root, const Setting& setting, Configuration& c) {
    const std::string path = std::string(setting.section) + "." + std::string(setting.name);
    std::string value(setting.default_text);
    std::string origin = "default";
    const toml::node* at = nullptr;
    if (const toml::table* table = root[setting.section].as_table()) {
      if (const toml::node* node = table->get(setting.name)) {
        const bool is_text = node->is_string();
        const bool right = setting.type == Type::integer ? node->is_integer()
                           : setting.type == Type::size  ? is_text || node->is_integer()
                                                         : is_text;
        if (!right) {
          problem(*node, "\"" + path + "\" must be " +
                             std::string(kTypeWords[static_cast<std::size_t>(setting.type)]) +
                             ", it is " + type_name(*node));
          return;
        }
        value = is_text ? node->as_string()->get() : std::to_string(node->as_integer()->get());
        origin = line_of(*node);
        at = node;
      }
    }
    std::string variable = "PILLARBOX_" + upper(setting.section) + "__" + upper(setting.name);
    if (source_.environment) {
      if (auto from = source_.environment(variable)) {
        value = *from;
        origin = "environment " + variable;
        at = nullptr;
      }
    }
    if (const auto flag = source_.overrides.find(path); flag != source_.overrides.end()) {
      value = flag->second;
      origin = "command line";
      at = nullptr;
    }
    if (const auto wrong = setting.apply(c, value)) {
      const std::string text = "\"" + path + "\" is \"" + value + "\"; it " + *wrong;
      if (at != nullptr) {
        problem(*at, text);
      } else {
        problem_elsewhere(origin, text);
      }
      return;
    }
    shown(path, value, origin);
    if (setting.section == "relay" && setting.name == "lease" && at != nullptr)
      lease_at_ = at->source().begin;
  }
  static constexpr std::string_view kTypeWords[] = {
      "a text",
      "a duration in quotes, as in \"5s\"",
      "a duration in quotes, as in \"7d\", or \"never\"",
      "a size, as in \"8MiB\"",
      "an integer",
      "a text"};
  static std::string upper(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::toupper(ch)); });
    return out;
  }

  // ---- secrets ----
  std::shared_ptr<const Secret> secret(const toml::node& node, const std::string& path) {
    const toml::table* table = node.as_table();
    if (table == nullptr || table->size() != 1) {
      problem(node, "\"" + path +
                        "\" must say where the secret is: { file = \"…\" }, { env = \"NAME\" } or "
                        "{ credential = \"name\" }");
      return nullptr;
    }
    const auto first = table->begin();
    const toml::key& key = first->first;
    const toml::node& value = first->second;
    const auto* text = value.as_string();
    if (text == nullptr || text->get().empty()) {
      problem(value, "\"" + path + "." + std::string(key.str()) + "\" must be a text");
      return nullptr;
    }
    if (key.str() == "file") return secret_from_file(text->get());
    if (key.str() == "env") return secret_from_environment(text->get());
    if (key.str() == "credential") return secret_from_credential(text->get());
    unknown(key, path + "." + std::string(key.str()), {"file", "env", "credential"});
    return nullptr;
  }

  // ---- [[outbox]] ----
  void read_outboxes(const toml::table& root, Configuration& c) {
    std::optional<std::string> single = source_.store_url;
    std::string origin = "command line";
    if (!single && source_.environment) {
      single = source_.environment("PILLARBOX_STORE");
      origin = "environment PILLARBOX_STORE";
    }
    if (single) {
      OutboxSettings outbox;
      outbox.store.url = *single;
      check_store(outbox, [&](const std::string& text) { problem_elsewhere(origin, text); });
      shown("outbox.store", core::redact_url(*single), origin);
      c.relay.outboxes.push_back(std::move(outbox));
      return;
    }
    const toml::node* node = root.get("outbox");
    if (node == nullptr) {
      if (source_.needs_outbox) {
        problem_elsewhere(name_.empty() ? "configuration" : name_,
                          "there is no outbox; add [[outbox]] with store = \"sqlite:app.db\", or "
                          "give --store or PILLARBOX_STORE");
      }
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      problem(*node, "outbox must be written [[outbox]], with two brackets: there can be several");
      return;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const toml::table* table = (*list)[i].as_table();
      if (table == nullptr) {
        problem((*list)[i], "[[outbox]] must be a table");
        continue;
      }
      const std::string path = "outbox[" + std::to_string(i + 1) + "]";
      OutboxSettings outbox;
      if (list->size() > 1) outbox.name = "outbox" + std::to_string(i + 1);
      const toml::node* store_at = nullptr;
      for (const auto& [key, value] : *table) {
        const std::string at = path + "." + std::string(key.str());
        if (key.str() == "password") {
          outbox.store.password = secret(value, at);
          if (outbox.store.password) shown(at, outbox.store.password->where(), line_of(value));
        } else if (key.str() == "name" || key.str() == "store") {
          const auto text = scalar(value, at);
          if (!text) continue;
          if (key.str() == "name") {
            outbox.name = *text;
            if (text->empty() || text->size() > 60)
              problem(value, "\"" + at + "\" must have 1 to 60 characters");
            shown(at, *text, line_of(value));
          } else {
            outbox.store.url = *text;
            store_at = &value;
            shown(at, core::redact_url(*text), line_of(value));
          }
        } else {
          unknown(key, at, {"name", "store", "password"});
        }
      }
      if (store_at == nullptr) {
        problem(*table,
                "[[outbox]] needs store = \"…\", as in \"sqlite:app.db\" or "
                "\"postgresql://user@host/db\"");
        continue;
      }
      check_store(outbox, [&](const std::string& text) { problem(*store_at, text); });
      if (!names.insert(outbox.name).second)
        problem(*table, "outbox \"" + outbox.name + "\" is there twice");
      c.relay.outboxes.push_back(std::move(outbox));
    }
  }

  template <class Tell>
  void check_store(const OutboxSettings& outbox, Tell tell) {
    try {
      store_factory_for(outbox.store.url).check(outbox.store);
      if (core::parse_url(outbox.store.url).password) {
        loaded_.configuration->warnings.push_back(
            "the store URL of outbox \"" + outbox.name +
            "\" holds a password; give password = { file = \"…\" } instead");
      }
    } catch (const Error& error) {
      tell(error.what());
    }
  }

  // ---- [sink.NAME] ----
  struct SinkInfo {
    const SinkFactory* factory = nullptr;
    toml::source_position at;
    std::optional<Millis> timeout;
  };

  void read_sinks(const toml::table& root, Configuration& c) {
    const toml::node* node = root.get("sink");
    if (node != nullptr && !node->is_table()) {
      problem(*node, "sinks must be written [sink.NAME]");
      return;
    }
    if (node != nullptr) {
      for (const auto& [name, value] : *node->as_table())
        read_sink(std::string(name.str()), value, c);
    }
    if (source_.sink_url) {
      SinkDefinition sink;
      sink.name = "sink";
      sink.url = *source_.sink_url;
      try {
        sinks_[sink.name] = SinkInfo{&sink_factory_for(sink.url), {}, {}};
        shown("sink.sink.url", core::redact_url(sink.url), "command line");
        c.relay.sinks.push_back(std::move(sink));
      } catch (const Error& error) {
        problem_elsewhere("command line", error.what());
      }
    }
  }

  void read_sink(const std::string& name, const toml::node& node, Configuration& c) {
    const std::string path = "sink." + name;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      problem(node, "[" + path + "] must be a table with at least url = \"…\"");
      return;
    }
    SinkDefinition sink;
    sink.name = name;
    SinkInfo info;
    info.at = node.source().begin;
    const toml::node* url = table->get("url");
    if (url == nullptr || !url->is_string()) {
      problem(node, "[" + path +
                        "] needs url = \"…\", as in \"https://partner.example/hooks\" or "
                        "\"file:/var/spool/out.jsonl\"");
      return;
    }
    sink.url = url->as_string()->get();
    try {
      info.factory = &sink_factory_for(sink.url);
    } catch (const Error& error) {
      problem(*url, error.what());
      return;
    }
    std::vector<std::string_view> known = {"url", "password", "secrets", "timeout"};
    for (const SinkSetting& s : info.factory->settings()) {
      if (s.place == SinkSetting::Place::sink) known.push_back(s.name);
    }
    for (const auto& [key, value] : *table) {
      const std::string at = path + "." + std::string(key.str());
      if (key.str() == "url") {
        shown(at, core::redact_url(sink.url), line_of(value));
      } else if (key.str() == "password") {
        sink.password = secret(value, at);
        if (sink.password) shown(at, sink.password->where(), line_of(value));
      } else if (key.str() == "secrets") {
        const toml::array* list = value.as_array();
        if (list == nullptr) {
          problem(value, "\"" + at + "\" must be a list: [{ file = \"…\" }]");
          continue;
        }
        for (const toml::node& one : *list) {
          if (auto made = secret(one, at)) {
            shown(at, made->where(), line_of(one));
            sink.secrets.push_back(std::move(made));
          }
        }
      } else if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        unknown(key, at, known);
      } else if (const auto text =
                     sink_value(*info.factory, SinkSetting::Place::sink, key.str(), value, at)) {
        // A setting may be an address with a password in it, as a proxy's is.
        shown(at, text->find("://") == std::string::npos ? *text : core::redact_url(*text),
              line_of(value));
        if (key.str() == "timeout") {
          info.timeout = core::parse_duration(*text);
          if (!info.timeout || *info.timeout < Millis{1})
            problem(value, "\"" + at + "\" must be a duration, as in \"20s\"");
        } else {
          sink.settings[std::string(key.str())] = *text;
        }
      }
    }
    sinks_[name] = info;
    c.relay.sinks.push_back(std::move(sink));
  }

  // A sink's own key as text: a list becomes one text a line.
  std::optional<std::string> sink_value(const SinkFactory& factory, SinkSetting::Place place,
                                        std::string_view name, const toml::node& value,
                                        const std::string& at) {
    const auto table = factory.settings();
    const bool is_list = std::any_of(table.begin(), table.end(), [&](const SinkSetting& s) {
      return s.place == place && s.name == name && s.type == SinkSetting::Type::list;
    });
    if (!is_list) return scalar(value, at);
    const toml::array* list = value.as_array();
    std::string out;
    if (list != nullptr) {
      for (const toml::node& one : *list) {
        const auto* text = one.as_string();
        if (text == nullptr || text->get().empty() || text->get().find('\n') != std::string::npos) {
          list = nullptr;
          break;
        }
        out += (out.empty() ? "" : "\n") + text->get();
      }
    }
    if (list == nullptr) {
      problem(value, "\"" + at + "\" must be a list of texts, as in [\"one\", \"two\"]");
      return std::nullopt;
    }
    return out;
  }

  // ---- [[route]] ----
  void read_routes(const toml::table& root, Configuration& c) {
    const toml::node* node = root.get("route");
    if (node != nullptr && !node->is_array()) {
      problem(*node, "routes must be written [[route]], with two brackets: there can be several");
      return;
    }
    if (node != nullptr) {
      const toml::array& list = *node->as_array();
      for (std::size_t i = 0; i < list.size(); ++i)
        read_route(list[i], "route[" + std::to_string(i + 1) + "]", c);
    }
    if (source_.sink_url) {
      RouteSettings route;
      route.name = "sink";
      route.sink = "sink";
      route_at_.push_back({});
      c.relay.routes.push_back(std::move(route));
    }
  }

  void read_route(const toml::node& node, const std::string& path, Configuration& c) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      problem(node, "[[route]] must be a table");
      return;
    }
    RouteSettings route;
    const toml::node* sink_at = table->get("sink");
    if (sink_at == nullptr || !sink_at->is_string()) {
      problem(node, "[[route]] needs sink = \"NAME\" of a [sink.NAME]");
      return;
    }
    route.sink = sink_at->as_string()->get();
    const auto sink = sinks_.find(route.sink);
    if (sink == sinks_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, info] : sinks_) names.push_back(name);
      const std::string near = core::nearest_name(route.sink, names);
      problem(*sink_at, "there is no [sink." + route.sink + "]" +
                            (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
      return;
    }
    route.name = route.sink;
    if (sink->second.timeout) route.timeout = *sink->second.timeout;
    std::vector<std::string_view> known;
    for (const KeyHelp& key : route_keys()) known.push_back(key.name);
    for (const SinkSetting& s : sink->second.factory->settings()) {
      if (s.place == SinkSetting::Place::route) known.push_back(s.name);
    }
    for (const auto& [key, value] : *table) {
      const std::string at = path + "." + std::string(key.str());
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        unknown(key, at, known);
        continue;
      }
      const auto text =
          sink_value(*sink->second.factory, SinkSetting::Place::route, key.str(), value, at);
      if (!text) continue;
      shown(at, *text, line_of(value));
      route_value(route, std::string(key.str()), *text, value, at, c);
    }
    route_at_.push_back(node.source().begin);
    c.relay.routes.push_back(std::move(route));
  }

  void route_value(RouteSettings& route, const std::string& key, const std::string& text,
                   const toml::node& node, const std::string& at, const Configuration& c) {
    const auto count = [&](std::int64_t low, std::int64_t high) -> std::int64_t {
      const auto* number = node.as_integer();
      if (number == nullptr || number->get() < low || number->get() > high) {
        problem(node, "\"" + at + "\" must be an integer from " + std::to_string(low) + " to " +
                          std::to_string(high));
        return low;
      }
      return number->get();
    };
    if (key == "type") {
      route.type = text;
      if (!core::is_type_pattern(text)) {
        problem(
            node,
            "\"" + at +
                "\" must be a job type, or a prefix with one '*' at its end, as in \"email.*\"");
      }
    } else if (key == "name") {
      route.name = text;
    } else if (key == "on_dead") {
      if (text == "hold") {
        route.on_dead = KeyPolicy::hold;
      } else if (text == "skip") {
        route.on_dead = KeyPolicy::skip;
      } else if (text == "park") {
        route.on_dead = KeyPolicy::park;
      } else {
        problem(node, "\"" + at + "\" must be hold, skip or park");
      }
    } else if (key == "concurrency") {
      route.concurrency = static_cast<std::size_t>(count(0, 64));
    } else if (key == "batch_max") {
      route.batch_max = static_cast<std::size_t>(count(0, 10'000));
    } else if (key == "timeout") {
      const auto value = core::parse_duration(text);
      if (!value || *value < Millis{1}) {
        problem(node, "\"" + at + "\" must be a duration, as in \"20s\"");
      } else {
        route.timeout = *value;
      }
    } else if (key == "max_attempts") {
      RetryPolicy own = c.relay.retry;
      own.max_attempts = static_cast<std::int32_t>(count(1, 10'000));
      route.retry = own;
    } else if (key != "sink") {
      route.parameters[key] = text;
    }
  }

  // ---- what only shows together ----
  void cross_checks(Configuration& c) {
    if (c.relay.retry.base > c.relay.retry.cap) {
      problem_elsewhere(name_.empty() ? "configuration" : name_,
                        "\"retry.base\" is " + core::format_duration(c.relay.retry.base) +
                            " and \"retry.cap\" only " + core::format_duration(c.relay.retry.cap) +
                            ": base must not be longer");
    }
    for (std::size_t i = 0; i < c.relay.routes.size(); ++i) {
      const RouteSettings& route = c.relay.routes[i];
      if (c.relay.lease < route.timeout + kLeaseMargin) {
        const std::string text = "\"lease\" is " + core::format_duration(c.relay.lease) +
                                 " but sink \"" + route.sink + "\" may take " +
                                 core::format_duration(route.timeout) + ": it must be at least " +
                                 core::format_duration(route.timeout + kLeaseMargin);
        if (lease_at_) {
          problem(*lease_at_, text);
        } else {
          problem(route_at_[i], text);
        }
      }
      const auto definition =
          std::find_if(c.relay.sinks.begin(), c.relay.sinks.end(),
                       [&](const SinkDefinition& s) { return s.name == route.sink; });
      if (definition == c.relay.sinks.end()) continue;
      SinkSettings made;
      made.name = definition->name;
      made.url = definition->url;
      made.sink = definition->settings;
      made.route = route.parameters;
      made.secrets = definition->secrets;
      made.password = definition->password;
      try {
        sinks_.at(route.sink).factory->check(made);
      } catch (const Error& error) {
        problem(sinks_.at(route.sink).at.line > 0 ? sinks_.at(route.sink).at : route_at_[i],
                error.what());
      }
    }
  }

  const Source& source_;
  std::string name_;
  Loaded loaded_;
  std::map<std::string, SinkInfo> sinks_;
  std::vector<toml::source_position> route_at_;
  std::optional<toml::source_position> lease_at_;
};

std::string read_whole(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorKind::invalid_input, "PBX-2001",
                "configuration file " + path + ": " + std::strerror(errno));
  }
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    throw Error(ErrorKind::invalid_input, "PBX-2001",
                "configuration file " + path + " is larger than 1 MiB");
  }
  return text;
}

// --config, PILLARBOX_CONFIG, ./pillarbox.toml, $XDG_CONFIG_HOME/pillarbox/pillarbox.toml,
// /etc/pillarbox/pillarbox.toml
std::string find_file(const Source& source) {
  if (source.path) return *source.path;
  const auto variable = [&](std::string_view name) {
    return source.environment ? source.environment(name) : std::nullopt;
  };
  if (const auto named = variable("PILLARBOX_CONFIG")) return *named;
  std::vector<std::string> places = {"pillarbox.toml"};
  if (const auto home = variable("XDG_CONFIG_HOME")) {
    places.push_back(*home + "/pillarbox/pillarbox.toml");
  } else if (const auto user = variable("HOME")) {
    places.push_back(*user + "/.config/pillarbox/pillarbox.toml");
  }
  places.emplace_back("/etc/pillarbox/pillarbox.toml");
  for (const std::string& place : places) {
    if (std::ifstream(place).good()) return place;
  }
  return {};
}

// A variable of ours that names no setting is a typing mistake that would otherwise go unseen.
void check_environment(const Source& source, std::vector<Problem>& problems) {
  std::vector<std::string> known = {"PILLARBOX_CONFIG", "PILLARBOX_STORE"};
  for (const Setting& setting : settings()) {
    std::string name =
        "PILLARBOX_" + std::string(setting.section) + "__" + std::string(setting.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::toupper(ch)); });
    known.push_back(std::move(name));
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  for (const std::string& name : source.environment_names) {
    if (name.find("__") == std::string::npos)
      continue;  // somebody else's, such as PILLARBOX_TEST_…
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = core::nearest_name(name, views);
    problems.push_back(
        Problem{"environment", 0, 0,
                "unknown variable " + name + (near.empty() ? "" : "; did you mean " + near + "?")});
  }
}

}  // namespace

Loaded load_text(std::string_view toml, const std::string& name, const Source& source) {
  std::vector<Problem> early;
  check_environment(source, early);
  Loaded loaded = Reader(source, name).read(toml);
  if (!early.empty()) {
    loaded.problems.insert(loaded.problems.end(), early.begin(), early.end());
    loaded.configuration.reset();
  }
  if (loaded.configuration) loaded.configuration->file = name;
  return loaded;
}

Loaded load(const Source& source) {
  const std::string path = find_file(source);
  return load_text(path.empty() ? std::string{} : read_whole(path), path, source);
}

std::string describe(const std::vector<Problem>& problems) {
  std::ostringstream out;
  out << "configuration refused (PBX-2003)\n";
  for (const Problem& problem : problems) {
    out << "  " << problem.where;
    if (problem.line > 0) out << ':' << problem.line << ':' << problem.column;
    out << "  " << problem.text << '\n';
  }
  out << "  " << problems.size() << (problems.size() == 1 ? " problem" : " problems")
      << ". Nothing was started.";
  return out.str();
}

}  // namespace pillarbox::config
