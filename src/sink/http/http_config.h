// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pillarbox/sink.h"
#include "sink/http/http_outcome.h"

namespace pillarbox::http {

enum class Format {
  raw,                     // the payload, facts in pillarbox-* headers
  cloudevents_binary,      // the payload, facts in ce-* headers
  cloudevents_structured,  // one JSON object with the facts and the payload
  cloudevents_batch,       // a JSON array of those
  standard,                // {"type":…,"timestamp":…,"data":…} of Standard Webhooks
};

// The settings of one sink, read and checked.
struct HttpConfig {
  std::string url;       // without user and password
  std::string endpoint;  // host:port, which may be shown
  std::string user;
  std::optional<std::string> url_password;
  bool host_is_private_literal = false;  // the URL names a private address, or localhost
  Format format = Format::raw;
  bool signs = false;
  bool sends_idempotency_key = false;
  bool allows_private_addresses = false;
  Millis connect_timeout{10'000};
  std::size_t connections = 16;
  std::string proxy;
  std::string ca_file;
  std::string source;  // of CloudEvents
  AnswerPolicy answers;
  std::vector<std::shared_ptr<const Secret>> secrets;
  std::shared_ptr<const Secret> password;
};

[[nodiscard]] std::span<const SinkSetting> http_settings() noexcept;

// Throws Error(invalid_input): PBX-5003 for the URL, PBX-5002 for a key. Reads no secret.
[[nodiscard]] HttpConfig read_config(const SinkSettings& settings);

}  // namespace pillarbox::http
