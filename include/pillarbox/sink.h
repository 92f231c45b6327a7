// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/outcome.h"

namespace pillarbox {

using Instant = std::chrono::steady_clock::time_point;  // the relay's monotonic time

// Where messages go. One handle belongs to one worker and one route, and is used by one thread at a
// time.
class Sink {
 public:
  virtual ~Sink() = default;

  // Hands over `batch` before `deadline`. `outcomes` has batch's size and order and comes in as
  // "transient: no answer"; fill in what the engine durably acknowledged or refused, message by
  // message. Does not throw for anything an engine can answer. A batch never holds two messages of
  // one ordering_key.
  virtual void deliver(std::span<const ClaimedMessage> batch, Instant deadline,
                       std::span<Outcome> outcomes) = 0;
};

// A secret that is read when it is needed, so that a rotated one is taken up. `read` throws
// Error(refused) when the source is gone; `where` says where it comes from and may be shown.
class Secret {
 public:
  virtual ~Secret() = default;
  [[nodiscard]] virtual std::string read() const = 0;
  [[nodiscard]] virtual std::string where() const = 0;
};

// What a sink is told when it is made: `[sink.NAME]` and the parameters of the route that leads to
// it. Values are the text forms of the configuration ("20s", "64KiB", "true"; a list has
// one text a line). Keys were checked
// against SinkFactory::settings().
struct SinkSettings {
  std::string name;    // of the sink
  std::string outbox;  // of the outbox, for CloudEvents' source
  std::string url;
  std::map<std::string, std::string> sink = {};             // keys of [sink.NAME]
  std::map<std::string, std::string> route = {};            // keys of the [[route]]
  std::vector<std::shared_ptr<const Secret>> secrets = {};  // signing keys, current ones first
  std::shared_ptr<const Secret> password = {};
};

// One key that a sink understands, for configuration checks and the generated reference.
struct SinkSetting {
  enum class Place { sink, route };
  enum class Type { text, duration, size, integer, boolean, choice, secrets, list };
  Place place = Place::sink;
  std::string_view name;
  Type type = Type::text;
  std::string_view choices;        // for choice: "raw|cloudevents-binary"
  std::string_view default_value;  // as text
  std::string_view help;
};

// Promises to users; shown in the docs and asked by the conformance suite.
struct SinkCapabilities {
  bool durable_acknowledgement = false;  // delivered survives a crash of the sink
  bool message_id_travels = false;       // consumers can recognise repeats
  bool keeps_order = false;              // one call's messages arrive in the batch's order
  bool remote = false;                   // can be unreachable
};

class SinkFactory {
 public:
  virtual ~SinkFactory() = default;
  [[nodiscard]] virtual std::span<const std::string_view> schemes()
      const = 0;  // of its URLs: "http", "https"
  [[nodiscard]] virtual SinkCapabilities capabilities() const = 0;
  [[nodiscard]] virtual std::span<const SinkSetting> settings() const = 0;
  [[nodiscard]] virtual std::string_view acknowledgement()
      const = 0;  // what "delivered" means here, one sentence

  // Throws Error(invalid_input) that names the key and what would be right. Opens no connection.
  virtual void check(const SinkSettings& settings) const = 0;

  [[nodiscard]] virtual std::unique_ptr<Sink> make(const SinkSettings& settings) const = 0;

  // Asks the sink whether it would take messages, without sending one; a sentence for doctor.
  // Throws Error when not.
  [[nodiscard]] virtual std::string probe(const SinkSettings& settings, Instant deadline) const = 0;
};

}  // namespace pillarbox
