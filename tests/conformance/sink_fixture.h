// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "pillarbox/sink.h"

namespace pillarbox::testing {

// What the other end has, as a consumer there reads it.
struct ReceivedMessage {
  std::string message_id;
  std::string job_type;
  std::string payload;
};

// One sink and its real other end, for one test. A hand that a kind does not have answers false,
// and the test says that it did not run and why.
class SinkFixture {
 public:
  virtual ~SinkFixture() = default;
  [[nodiscard]] virtual SinkCapabilities capabilities() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Sink> connect() = 0;  // another handle to the same end

  // In the order in which they arrived; repeats are there twice. nullopt: this end keeps nothing.
  [[nodiscard]] virtual std::optional<std::vector<ReceivedMessage>> received() = 0;

  virtual bool stop() = 0;  // nobody can reach the other end until start()
  virtual void start() = 0;
  virtual bool refuse_next(std::size_t n) = 0;   // for now: a later try is taken
  virtual bool refuse_always(MessageId id) = 0;  // this message only, for good
  virtual bool swallow_answers(bool on) = 0;     // it takes messages and acknowledges none
  virtual bool hold_answers(bool on) = 0;        // it takes messages and waits to acknowledge them
  virtual bool answer_after(Millis delay) = 0;   // each call takes that long
  // Messages that one handle has on their way at the same time; nullopt: a batch is one call.
  [[nodiscard]] virtual std::optional<std::size_t> calls_at_once() const { return std::nullopt; }
};

// One way to run the suite: "File", "HttpRaw", "HttpCloudEventsBatch" …
struct SinkParam {
  std::string name;
  std::function<std::unique_ptr<SinkFixture>()> make;
};
inline void PrintTo(const SinkParam& param, std::ostream* out) { *out << param.name; }

}  // namespace pillarbox::testing
