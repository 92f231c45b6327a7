// SPDX-License-Identifier: Apache-2.0
// config, doctor, completion, version, help
#include <chrono>

#include "cli/actions.h"
#include "core/suggest.h"
#include "core/units.h"
#include "core/url.h"
#include "json/json.h"
#include "pillarbox/version.h"
#include "sink/registry.h"
#include "store/registry.h"

namespace pillarbox::cli {
namespace {

using enum Finding::Level;

void examine_store(const config::Configuration& configuration, const OutboxSettings& outbox,
                   const StoreOptions& options, std::vector<Finding>& out) {
  const std::string subject = "store " + outbox.name;
  const StoreFactory& factory = store_factory_for(outbox.store.url);
  try {
    const SchemaState state = factory.schema(options)->state();
    if (state.version == 0) {
      out.push_back({error, subject, "there is no outbox in " + core::redact_url(outbox.store.url),
                     "pillarbox migrate"});
      return;
    }
    if (state.version != state.newest_known) {
      out.push_back(
          {error, subject,
           "schema " + std::to_string(state.version) + ", this program wants " +
               std::to_string(state.newest_known),
           state.version < state.newest_known ? "pillarbox migrate" : "run a newer pillarbox"});
      return;
    }
    for (const std::string& drift : state.drift) {
      out.push_back(
          {error, subject, "the schema differs: " + drift, "compare with: pillarbox migrate sql"});
    }
    const auto admin = factory.connect_admin(options);
    for (Finding& finding : admin->examine()) {
      finding.subject = subject + ", " + finding.subject;
      out.push_back(std::move(finding));
    }
    const Overview overview = admin->overview();
    std::size_t alive = 0;
    for (const RelayRow& relay : admin->relays()) {
      if (to_int(overview.now) - to_int(relay.heartbeat_at) < 30'000'000) ++alive;
    }
    out.push_back({alive == 0 ? warn : ok, subject + ", relays", std::to_string(alive) + " alive",
                   alive == 0 ? "pillarbox run" : ""});
    for (const BrakeRow& brake : admin->brakes()) {
      out.push_back({warn, subject + ", brake",
                     "on for " + brake.scope + " since " + core::format_time(brake.set_at) +
                         " by " + brake.set_by + (brake.reason.empty() ? "" : ": " + brake.reason),
                     "pillarbox resume"});
    }
    for (const TypeCount& type : overview.waiting_types) {
      bool routed = false;
      for (const RouteSettings& route : configuration.relay.routes) {
        const bool star = route.type.ends_with('*');
        routed =
            routed || (star ? type.job_type.starts_with(route.type.substr(0, route.type.size() - 1))
                            : type.job_type == route.type);
      }
      if (!routed) {
        out.push_back({warn, subject + ", routes",
                       std::to_string(type.waiting) + " messages of type \"" +
                           printable(type.job_type) + "\" wait and no route takes them",
                       "add a [[route]] with type = \"" + printable(type.job_type) + "\""});
      }
    }
  } catch (const Error& e) {
    out.push_back({error, subject, e.what(), ""});
  }
}

void examine_sink(const config::Configuration& configuration, const RouteSettings& route,
                  std::vector<Finding>& out) {
  for (const SinkDefinition& sink : configuration.relay.sinks) {
    if (sink.name != route.sink) continue;
    SinkSettings settings;
    settings.name = sink.name;
    settings.url = sink.url;
    settings.sink = sink.settings;
    settings.route = route.parameters;
    settings.secrets = sink.secrets;
    settings.password = sink.password;
    try {
      for (const auto& secret : sink.secrets) static_cast<void>(secret->read());
      const SinkFactory& factory = sink_factory_for(sink.url);
      const Instant deadline =
          std::chrono::steady_clock::now() + std::min(route.timeout, Millis{10'000});
      out.push_back(
          {ok, "sink " + sink.name,
           factory.probe(settings, deadline) + ". " + std::string(factory.acknowledgement()), ""});
    } catch (const Error& e) {
      out.push_back({error, "sink " + sink.name, e.what(),
                     "correct sink." + sink.name + ", or start the other end"});
    }
  }
}

int write_findings(Context& context, const std::vector<Finding>& findings) {
  constexpr std::string_view kLevels[] = {"ok", "warn", "error"};
  std::size_t errors = 0;
  std::size_t warnings = 0;
  Table table({{"level"}, {"subject"}, {"text"}, {"fix"}});
  std::string text;
  for (const Finding& f : findings) {
    errors += f.level == error ? 1U : 0U;
    warnings += f.level == warn ? 1U : 0U;
    const auto level = kLevels[static_cast<std::size_t>(f.level)];
    table.add({std::string(level), f.subject, f.text, f.fix});
    const Colour colour = f.level == ok     ? Colour::green
                          : f.level == warn ? Colour::yellow
                                            : Colour::red;
    text += coloured(context.style(), colour, level) + std::string(6 - level.size(), ' ') +
            f.subject + ": " + printable(f.text) + "\n";
    if (!f.fix.empty()) text += "      fix: " + printable(f.fix) + "\n";
  }
  if (context.style().format == Format::table) {
    write_out(text);
  } else {
    table.write(context.style(), {});
  }
  if (errors + warnings > 0)
    context.say(std::to_string(errors) + " errors, " + std::to_string(warnings) + " warnings");
  return errors > 0 ? kCheckFailed : kDone;
}

std::vector<Finding> examine_all(Context& context, const Arguments& arguments) {
  const config::Configuration& configuration = context.configuration();
  std::vector<Finding> findings;
  findings.push_back(
      {ok, "configuration",
       configuration.file.empty() ? "no file; flags and environment" : configuration.file, ""});
  for (const std::string& warning : configuration.warnings)
    findings.push_back({warn, "configuration", warning, ""});
  if (configuration.relay.routes.empty()) {
    findings.push_back({warn, "routes", "there are none: nothing would be delivered",
                        "add a [sink.NAME] and a [[route]]"});
  }
  for (const OutboxSettings& outbox : configuration.relay.outboxes) {
    StoreOptions options = outbox.store;
    options.connect_timeout =
        Millis(duration_ms_of(arguments, "timeout", options.connect_timeout.count()));
    examine_store(configuration, outbox, options, findings);
  }
  for (const RouteSettings& route : configuration.relay.routes)
    examine_sink(configuration, route, findings);
  return findings;
}

constexpr std::pair<std::string_view, std::string_view> kTopics[] = {
    {"exit-codes",
     "0 done\n1 failed\n2 wrong usage\n3 configuration refused\n4 store unreachable or login "
     "refused\n"
     "5 schema missing, too old or too new\n6 a check found problems (doctor, status --check, "
     "migrate verify)\n"
     "7 not found\n8 stopped part-way; repeat to continue\n9 declined at the prompt\n130 "
     "interrupted\n"
     "run ends with 0 after a clean drain.\n"},
    {"environment",
     "PILLARBOX_CONFIG     the configuration file\nPILLARBOX_STORE      the URL of a single "
     "outbox\n"
     "PILLARBOX_RELAY__BATCH_SIZE and so on: any setting, section and name in capitals, two "
     "underscores between\n"
     "NO_COLOR, CLICOLOR_FORCE, TERM   colours\nPrecedence: flag, environment, file, default.\n"},
    {"urls",
     "sqlite:data/app.db              a file below the working directory\nsqlite:/abs/app.db       "
     "       an absolute path\n"
     "postgresql://user@host:5432/db?sslmode=verify-full&schema=pillarbox\n"
     "    several hosts: postgresql://h1,h2/db (the primary is found); listen=HOST:PORT for LISTEN "
     "beside a pooler,\n"
     "    listen=none to poll only; prepared=false for poolers that keep no prepared statements\n"
     "memory:name                     for tests: gone with the process\n"
     "http://… https://…   file:/path   stdout:   null:        sinks\n"
     "Percent-encode what has a meaning in URLs: @ is %40, : is %3A, / is %2F, ? is %3F, # is %23, "
     "% is %25, space is %20.\n"
     "Passwords belong into password = { file = \"…\" }; URLs are shown redacted.\n"},
    {"secrets",
     "Never by flag. password = { file = \"…\" } is read again for each new connection, { "
     "credential = \"name\" } comes from\n"
     "systemd's LoadCredential=, { env = \"NAME\" } from the environment. Payloads are for ids: "
     "rows can be read by many.\n"},
    {"examples",
     "pillarbox --store sqlite:app.db migrate\n"
     "pillarbox --store sqlite:app.db enqueue email.welcome.v1 '{\"user\":17}'\n"
     "pillarbox --store sqlite:app.db --sink stdout: run\n"
     "pillarbox config init > pillarbox.toml; pillarbox config check\n"
     "pillarbox list --filter 'status:dead type:email.*'\n"
     "pillarbox replay --filter 'status:dead reason:attempts' --dry-run\n"
     "pillarbox pause --type 'email.*' --reason 'provider down'; pillarbox resume --type "
     "'email.*'\n"}};

}  // namespace

int config_check(Context& context, const Arguments& arguments) {
  const config::Configuration& configuration = context.configuration();
  for (const std::string& warning : configuration.warnings) context.say("warning: " + warning);
  context.say("configuration is right: " +
              (configuration.file.empty() ? std::string("no file") : configuration.file));
  return arguments.has("connect") ? write_findings(context, examine_all(context, arguments))
                                  : kDone;
}

int config_show(Context& context, const Arguments&) {
  Table table({{"key"}, {"value"}, {"origin"}});
  for (const config::Value& value : context.configuration(false).values)
    table.add({value.key, value.text, value.origin});
  table.write(context.style(), {});
  return kDone;
}

int config_init(Context&, const Arguments&) {
  write_out(config::initial_file());
  return kDone;
}

int config_keys(Context&, const Arguments& arguments) {
  const std::string section = arguments.words.empty() ? "" : arguments.words.front();
  const std::string text = config::reference(section);
  if (text.empty())
    throw UsageError("there is no section \"" + section + "\"; see: pillarbox config keys");
  write_out(text);
  return kDone;
}

int doctor(Context& context, const Arguments& arguments) {
  return write_findings(context, examine_all(context, arguments));
}

int completion(Context&, const Arguments& arguments) {
  const std::string& shell = arguments.words.front();
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    throw UsageError("completion is there for bash, zsh and fish");
  write_out(completion_script(shell));
  return kDone;
}

int version(Context& context, const Arguments&) {
  std::string stores;
  for (const auto& factory : store_factories())
    stores += (stores.empty() ? "" : " ") + std::string(factory->schemes().front());
  std::string sinks;
  for (const auto& factory : sink_factories())
    sinks += (sinks.empty() ? "" : " ") + std::string(factory->schemes().front());
  Record record;
  record.add("version", std::string(kVersion));
  record.add("stores", stores);
  record.add("sinks", sinks);
  record.write(context.style(), {});
  return kDone;
}

int help(Context&, const Arguments& arguments) {
  if (arguments.words.empty()) {
    write_out(overview_text());
    return kDone;
  }
  std::string topic;
  for (const std::string& word : arguments.words) topic += (topic.empty() ? "" : " ") + word;
  if (topic == "filters") {
    write_out(core::filter_help());
    return kDone;
  }
  if (topic == "config") {
    write_out(config::reference(""));
    return kDone;
  }
  if (topic == "reference") {
    write_out(reference_markdown());
    return kDone;
  }
  for (const auto& [name, text] : kTopics) {
    if (name == topic) {
      write_out(text);
      return kDone;
    }
  }
  for (const Command& command : commands()) {
    if (command.path == topic) {
      write_out(usage_of(command));
      return kDone;
    }
  }
  if (const std::string group = group_text(topic); !group.empty()) {
    write_out(group);
    return kDone;
  }
  std::vector<std::string_view> names = {"filters", "config"};
  for (const auto& [name, text] : kTopics) names.push_back(name);
  for (const Command& command : commands()) names.push_back(command.path);
  const std::string near = core::nearest_name(topic, names);
  throw UsageError("there is no help on \"" + topic + "\"" +
                   (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

}  // namespace pillarbox::cli
