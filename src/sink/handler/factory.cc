// SPDX-License-Identifier: Apache-2.0
#include "sink/handler/factory.h"

#include <utility>

#include "core/assert.h"
#include "pillarbox/error.h"
#include "sink/pace.h"

namespace pillarbox::handler_sink {
namespace {

class HandlerSink final : public Sink {
 public:
  explicit HandlerSink(Handler handler) : handler_(std::move(handler)) {}

  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override {
    PILLARBOX_ASSERT(batch.size() == outcomes.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!limits.may_start()) {
        outcomes[i] = Outcome::not_sent("the handler was not called for it");
        continue;
      }
      const Instant began = std::chrono::steady_clock::now();
      outcomes[i] = call(batch[i]);
      pace_.ended(std::chrono::steady_clock::now() - began);
    }
  }
  std::size_t room() const override { return pace_.room(0); }

 private:
  Outcome call(const ClaimedMessage& message) const {
    // The handler is foreign code: whatever it throws is an answer about this message.
    try {
      return handler_(message);
    } catch (const std::exception& e) {
      return Outcome::transient("handler_threw", std::string("the handler threw: ") + e.what());
    } catch (...) {
      return Outcome::transient("handler_threw",
                                "the handler threw something that is no std::exception");
    }
  }

  const Handler handler_;
  sink::Pace pace_{1};
};

}  // namespace

std::unique_ptr<Sink> make(Handler handler) {
  if (!handler) {
    throw Error(ErrorKind::invalid_input, "PBX-5002",
                "a handler sink was given an empty function; give it one that can be called");
  }
  return std::make_unique<HandlerSink>(std::move(handler));
}

}  // namespace pillarbox::handler_sink
