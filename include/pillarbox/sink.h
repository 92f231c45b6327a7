// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/outcome.h"

namespace pillarbox {

using Instant = std::chrono::steady_clock::time_point;  // the relay's monotonic time

// How long one deliver() may go on. A call is what the sink does with the other end as one: a
// request, a transaction, a batch published and confirmed, a handler that runs.
struct DeliveryLimits {
  Millis timeout{20'000};                 // of each call, from the moment that it starts
  Instant start_before = Instant::max();  // no call starts from then on
  std::stop_token stop = {};              // nor once this is asked for
  // From then on, when all calls have started that may, deliver() may come back and leave calls in
  // flight: one slow answer must not keep the others' connections idle. Not before: outcomes that
  // come soon are settled together.
  Instant leave_after = Instant::max();

  [[nodiscard]] bool may_start() const noexcept {
    return !stop.stop_requested() && std::chrono::steady_clock::now() < start_before;
  }
  // For calls that sort out an earlier one: parts of a refused batch, to find the message at fault,
  // or the repeat of what the engine rolled back. `began`: when deliver() did.
  [[nodiscard]] bool may_sort_out(Instant began) const noexcept {
    return !stop.stop_requested() && std::chrono::steady_clock::now() < began + timeout;
  }
};

// Of a message that an earlier deliver() left in flight.
struct LateOutcome {
  Lease lease;
  Outcome outcome;
};

// Where messages go. One handle belongs to one worker and one route, and is used by one thread at a
// time.
class Sink {
 public:
  virtual ~Sink() = default;

  // Hands over `batch`. `outcomes` has batch's size and order and comes in as "transient: no
  // answer"; fill in what the engine durably acknowledged or refused, message by message. Before
  // each call ask limits.may_start(): once it says no, nothing more is sent, the calls on their
  // way end within their own timeout, and the messages of which nothing was sent become
  // Outcome::not_sent. Does not throw for anything an engine can answer. A batch never holds two
  // messages of one ordering_key. `batch` is gone when this returns: what calls that are left in
  // flight need of it, the sink has copied.
  virtual void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
                       std::span<Outcome> outcomes) = 0;

  // Waits for calls that were left in flight: until one has ended, or `until`. Returns all that
  // have ended since the last time, each once. Destroying the handle abandons what is in flight.
  [[nodiscard]] virtual std::vector<LateOutcome> collect(Instant /*until*/) { return {}; }

  // How many messages the next batch should hold at the most, by what this handle managed so far
  // and has in flight; asked after each deliver() and collect(). It bounds the next claim, so that
  // messages need not be given back. 0: none could start before something in flight has ended.
  // kNoBound where a batch takes about as long whatever its size, and while nothing is known.
  static constexpr std::size_t kNoBound = SIZE_MAX;
  [[nodiscard]] virtual std::size_t room() const { return kNoBound; }
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
