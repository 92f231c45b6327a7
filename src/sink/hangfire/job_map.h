// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/outcome.h"
#include "pillarbox/sink.h"

namespace pillarbox::hangfire {

// Where one argument of the method comes from.
struct Argument {
  enum class Source {
    pointer,
    payload,
    payload_text,
    message_id,
    correlation_id,
    job_type,
    literal
  };
  Source source = Source::literal;
  std::string text;  // the JSON Pointer (RFC 6901), or the literal's JSON
};

// What a route says about the job that a message becomes: the logical job_type stays in the outbox,
// and classes may move without orphaning rows.
struct JobMap {
  std::string route;  // for messages to people
  std::string type;
  std::string method;
  std::vector<std::string> parameter_types;
  std::vector<Argument> arguments;
  std::string queue;
  std::string culture;  // empty: the worker's own
  bool rejects_type_hints = true;
};

// The columns of one job, as Hangfire reads them (long form of InvocationData; every storage and
// version reads it). All of it is ASCII.
struct Job {
  std::string invocation;
  std::string arguments;
  std::string parameters;  // object: a job parameter's name to its value's JSON text
  std::string reason;
};

[[nodiscard]] std::span<const SinkSetting> settings() noexcept;

// Throws Error(invalid_input, PBX-5002) that names the key and what would be right.
[[nodiscard]] JobMap read_map(const SinkSettings& settings);

// Outcome: why this message can never become this route's job.
[[nodiscard]] std::variant<Job, Outcome> job_of(const JobMap& map, const ClaimedMessage& message);

}  // namespace pillarbox::hangfire
