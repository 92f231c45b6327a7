// SPDX-License-Identifier: Apache-2.0
#include "sink/null/factory.h"

#include <algorithm>

#include "core/assert.h"
#include "pillarbox/error.h"

namespace pillarbox::null_sink {
namespace {

constexpr std::string_view kSchemes[] = {"null"};

class NullSink final : public Sink {
 public:
  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override {
    PILLARBOX_ASSERT(batch.size() == outcomes.size());
    std::fill(
        outcomes.begin(), outcomes.end(),
        limits.may_start() ? Outcome::delivered() : Outcome::not_sent("the batch's time was over"));
  }
};

class NullFactory final : public SinkFactory {
 public:
  std::span<const std::string_view> schemes() const override { return kSchemes; }
  SinkCapabilities capabilities() const override { return {}; }
  std::span<const SinkSetting> settings() const override { return {}; }
  std::string_view acknowledgement() const override {
    return "Nothing: every message counts as delivered and none is kept.";
  }
  void check(const SinkSettings& settings) const override {
    if (settings.url == "null:") return;
    throw Error(ErrorKind::invalid_input, "PBX-5003",
                "sink \"" + settings.name + "\": the null sink takes no address; write \"null:\"");
  }
  std::unique_ptr<Sink> make(const SinkSettings& settings) const override {
    check(settings);
    return std::make_unique<NullSink>();
  }
  std::string probe(const SinkSettings& settings, Instant) const override {
    check(settings);
    return "takes everything and keeps nothing";
  }
};

}  // namespace

std::shared_ptr<const SinkFactory> make_factory() { return std::make_shared<NullFactory>(); }

}  // namespace pillarbox::null_sink
