// SPDX-License-Identifier: Apache-2.0
#include "sink/hangfire/job_map.h"

#include <algorithm>

#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"
#include "sink/setting_values.h"

namespace pillarbox::hangfire {
namespace {

using Place = SinkSetting::Place;
using Type = SinkSetting::Type;

constexpr SinkSetting kSettings[] = {
    {Place::sink, "storage_schema", Type::text, "", "hangfire", "schema of Hangfire's tables"},
    {Place::sink, "ledger_schema", Type::text, "", "pillarbox_handover",
     "schema of the table that remembers which message became which job; made when it is missing"},
    {Place::sink, "notify", Type::boolean, "", "true",
     "wakes servers that run with EnableLongPolling, once for each batch"},
    {Place::route, "job", Type::text, "", "",
     "class or interface, as in \"Shop.Jobs.IEmailJobs, Shop.Jobs\""},
    {Place::route, "method", Type::text, "", "", "its public method, in exact case"},
    {Place::route, "parameters", Type::list, "", "",
     "the types of the method's parameters, as in [\"System.Int64\", \"System.String\"]"},
    {Place::route, "args", Type::list, "", "",
     "where each argument comes from: a JSON Pointer into the payload (\"/user/id\"), \"payload\" "
     "(all of it, as an object), \"payload-text\", \"message_id\", \"correlation_id\", "
     "\"job_type\", or \"= JSON\" for a fixed value (\"= null\" for a CancellationToken)"},
    {Place::route, "queue", Type::text, "", "default", "lower-case letters, digits, '_' and '-'"},
    {Place::route, "culture", Type::text, "", "",
     "culture that the job runs in, as in \"en-US\"; empty: the server's own"},
    {Place::route, "reject_type_hints", Type::boolean, "", "true",
     "refuses payloads with a \"$type\" member, by which Json.NET would choose a .NET class"},
};

bool is_name(std::string_view text, std::string_view further) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80 || further.find(c) != std::string_view::npos;
  });
}

Argument read_argument(const std::string& text, const sink::SettingValues& values) {
  using Source = Argument::Source;
  if (text.starts_with('/')) {
    if (!json::is_pointer(text))
      values.refuse("args", "has \"" + text + "\", which is no JSON Pointer: '~' is written ~0");
    return {Source::pointer, text};
  }
  if (text.starts_with('=')) {
    const std::string literal = text.substr(text.find_first_not_of(' ', 1) == std::string::npos
                                                ? text.size()
                                                : text.find_first_not_of(' ', 1));
    if (!json::is_valid(literal))
      values.refuse("args", "has \"" + text +
                                "\", and what follows '=' is not JSON; a text needs "
                                "quotes, as in '= \"en\"'");
    return {Source::literal, literal};
  }
  if (text == "payload") return {Source::payload, ""};
  if (text == "payload-text") return {Source::payload_text, ""};
  if (text == "message_id") return {Source::message_id, ""};
  if (text == "correlation_id") return {Source::correlation_id, ""};
  if (text == "job_type") return {Source::job_type, ""};
  values.refuse("args", "has \"" + text +
                            "\"; an argument is a JSON Pointer (\"/user/id\"), \"payload\", "
                            "\"payload-text\", \"message_id\", \"correlation_id\", \"job_type\" or "
                            "\"= JSON\"");
}

// The JSON text of one argument; nullopt when the payload has nothing there.
std::optional<std::string> value_of(const Argument& argument, const ClaimedMessage& message) {
  using Source = Argument::Source;
  switch (argument.source) {
    case Source::pointer: {
      const auto found = json::find(message.payload, argument.text);
      if (!found) return std::nullopt;
      return std::string(*found);
    }
    case Source::payload:
      if (!json::is_valid(message.payload)) return std::nullopt;
      return message.payload;
    case Source::payload_text:
      if (!core::utf8_length(message.payload)) return std::nullopt;
      return json::quoted(message.payload);
    case Source::message_id:
      return json::quoted(message.message_id.to_string());
    case Source::correlation_id:
      return message.correlation_id.empty() ? "null" : json::quoted(message.correlation_id);
    case Source::job_type:
      return json::quoted(message.job_type);
    case Source::literal:
      return argument.text;
  }
  return std::nullopt;
}

Outcome refused(const JobMap& map, const ClaimedMessage& message, const std::string& why) {
  return Outcome::permanent("hangfire_mapping",
                            map.route + ", message " + message.message_id.to_string() + ": " + why);
}

}  // namespace

std::span<const SinkSetting> settings() noexcept { return kSettings; }

JobMap read_map(const SinkSettings& given) {
  const sink::SettingValues values(given, kSettings);
  JobMap map;
  map.route = "route to sink \"" + given.name + "\"";
  map.type = values.text("job");
  if (!is_name(map.type, ".+`, []-"))
    values.refuse("job", map.type.empty()
                             ? "is missing: it says which class runs the job, as in "
                               "\"Shop.Jobs.IEmailJobs, Shop.Jobs\""
                             : "is \"" + map.type +
                                   "\", which is no type name; a type outside "
                                   "the core library is written with its assembly, as in "
                                   "\"Shop.Jobs.IEmailJobs, Shop.Jobs\"");
  map.method = values.text("method");
  if (!is_name(map.method, ""))
    values.refuse("method", map.method.empty() ? "is missing: it names the public method to call"
                                               : "is \"" + map.method + "\", which is no name");
  map.parameter_types = values.list("parameters");
  for (const std::string& type : map.parameter_types) {
    if (!is_name(type, ".+`, []-"))
      values.refuse("parameters", "has \"" + type + "\", which is no type name");
  }
  for (const std::string& text : values.list("args"))
    map.arguments.push_back(read_argument(text, values));
  if (map.arguments.size() != map.parameter_types.size()) {
    values.refuse("args", "has " + std::to_string(map.arguments.size()) +
                              " entries and parameters has " +
                              std::to_string(map.parameter_types.size()) +
                              "; Hangfire wants one argument for each parameter (\"= null\" for a "
                              "CancellationToken)");
  }
  map.queue = values.text("queue");
  const bool queue_is_good =
      !map.queue.empty() && map.queue.size() <= 50 &&
      std::all_of(map.queue.begin(), map.queue.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
      });
  if (!queue_is_good) {
    values.refuse(
        "queue",
        "is \"" + map.queue + "\"; Hangfire takes 1 to 50 lower-case letters, digits, '_' and '-'");
  }
  map.culture = values.text("culture");
  if (!map.culture.empty() && !is_name(map.culture, "-"))
    values.refuse("culture", "is \"" + map.culture + "\"; write it as in \"en-US\"");
  map.rejects_type_hints = values.boolean("reject_type_hints");
  return map;
}

std::variant<Job, Outcome> job_of(const JobMap& map, const ClaimedMessage& message) {
  if (map.rejects_type_hints) {
    const std::string hint[] = {"$type"};
    if (!json::find_keys(message.payload, hint, 1).empty())
      return refused(map, message,
                     "the payload has a \"$type\" member, by which Json.NET would choose a .NET "
                     "class; set reject_type_hints = false if that is meant");
  }
  json::Writer arguments;
  arguments.begin_array();
  for (std::size_t i = 0; i < map.arguments.size(); ++i) {
    const auto value = value_of(map.arguments[i], message);
    if (!value) {
      const bool is_pointer = map.arguments[i].source == Argument::Source::pointer;
      return refused(map, message,
                     is_pointer ? "the payload has nothing at " + map.arguments[i].text +
                                      ", which is argument " + std::to_string(i + 1)
                                : "the payload cannot be argument " + std::to_string(i + 1) +
                                      ": \"payload\" wants JSON and \"payload-text\" UTF-8");
    }
    if (*value == "null") {
      arguments.null();  // what a CancellationToken's place holds
    } else {
      arguments.string(*value);
    }
  }
  arguments.end_array();

  json::Writer types;
  types.begin_array();
  for (const std::string& type : map.parameter_types) types.string(type);
  types.end_array();
  json::Writer invocation;
  invocation.begin_object().field("Type", map.type).field("Method", map.method);
  invocation.field("ParameterTypes", types.text()).key("Arguments").null();
  // Makes retries return to the same queue.
  if (map.queue != "default") invocation.field("Queue", map.queue);
  invocation.end_object();

  json::Writer parameters;
  parameters.begin_object();
  const auto parameter = [&](std::string_view name, std::string_view value) {
    parameters.field(name, json::quoted(value));
  };
  parameter("Pillarbox.MessageId", message.message_id.to_string());
  parameter("Pillarbox.JobType", message.job_type);
  if (!message.correlation_id.empty()) parameter("Pillarbox.CorrelationId", message.correlation_id);
  for (const auto& [name, value] : message.headers) {
    if (name == "traceparent" || name == "tracestate") parameter(name, value);
  }
  if (!map.culture.empty()) {
    parameter("CurrentCulture", map.culture);
    parameter("CurrentUICulture", map.culture);
  }
  parameters.end_object();

  Job job;
  job.invocation = json::as_ascii(invocation.text());
  job.arguments = json::as_ascii(arguments.text());
  job.parameters = json::as_ascii(parameters.text());
  job.reason = "Handed over by Pillarbox, message " + message.message_id.to_string();
  return job;
}

}  // namespace pillarbox::hangfire
