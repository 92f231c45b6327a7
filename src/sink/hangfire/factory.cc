// SPDX-License-Identifier: Apache-2.0
#include "sink/hangfire/factory.h"

#include "sink/hangfire/hangfire_sink.h"
#include "sink/hangfire/job_map.h"

namespace pillarbox::hangfire {
namespace {

constexpr std::string_view kSchemes[] = {"hangfire+postgresql", "hangfire+postgres"};

class HangfireFactory final : public SinkFactory {
 public:
  std::span<const std::string_view> schemes() const override { return kSchemes; }
  SinkCapabilities capabilities() const override {
    return {.durable_acknowledgement = true,
            .message_id_travels = true,
            .keeps_order = true,
            .remote = true};
  }
  std::span<const SinkSetting> settings() const override { return hangfire::settings(); }
  std::string_view acknowledgement() const override {
    return "Hangfire's storage has committed the job with its queue entry, and the ledger beside "
           "it knows the message.";
  }
  void check(const SinkSettings& settings) const override {
    static_cast<void>(read_storage(settings));
    static_cast<void>(read_map(settings));
  }
  std::unique_ptr<Sink> make(const SinkSettings& settings) const override {
    return std::make_unique<HangfireSink>(read_storage(settings), read_map(settings));
  }
  std::string probe(const SinkSettings& settings, Instant deadline) const override {
    return HangfireSink(read_storage(settings), read_map(settings)).probe(deadline);
  }
};

}  // namespace

std::shared_ptr<const SinkFactory> make_factory() { return std::make_shared<HangfireFactory>(); }

}  // namespace pillarbox::hangfire
