// SPDX-License-Identifier: Apache-2.0
#include "sink/http/factory.h"

#include "pillarbox/error.h"
#include "sink/http/exchange.h"
#include "sink/http/http_config.h"
#include "sink/http/http_sink.h"
#include "sink/setting_values.h"
#include "sink/sigpipe.h"

namespace pillarbox::http {
namespace {

constexpr std::string_view kSchemes[] = {"http", "https"};

class HttpFactory final : public SinkFactory {
 public:
  std::span<const std::string_view> schemes() const override { return kSchemes; }
  SinkCapabilities capabilities() const override {
    return {.durable_acknowledgement = true,
            .message_id_travels = true,
            .keeps_order = false,
            .remote = true};
  }
  std::span<const SinkSetting> settings() const override { return http_settings(); }
  std::string_view acknowledgement() const override {
    return "The endpoint answered with a status from 200 to 299 and ended its answer.";
  }

  void check(const SinkSettings& settings) const override {
    const HttpConfig config = read_config(settings);
    if (config.host_is_private_literal && !config.allows_private_addresses) {
      const sink::SettingValues values(settings, http_settings());
      values.refuse("allow_private_addresses",
                    "is false, yet the url names an address that is not public (" +
                        config.endpoint + "); set it to true if that is meant");
    }
  }

  std::unique_ptr<Sink> make(const SinkSettings& settings) const override {
    return std::make_unique<HttpSink>(read_config(settings));
  }

  std::string probe(const SinkSettings& settings, Instant deadline) const override {
    const HttpConfig config = read_config(settings);
    (void)authorization_of(config);  // throws when the password cannot be read
    init_curl();
    const sink::SigpipeGuard guard;
    Exchange exchange(config);
    exchange.arm_probe(std::chrono::ceil<Millis>(deadline - std::chrono::steady_clock::now()));
    const CURLcode code = curl_easy_perform(exchange.easy());
    if (code == CURLE_OK) {
      return config.endpoint + (config.url.starts_with("https:")
                                    ? " accepts connections, certificate verified"
                                    : " accepts connections, without TLS");
    }
    const Outcome outcome = outcome_of(exchange.answer(code), config.answers);
    throw Error(ErrorKind::unreachable, "PBX-5004",
                "sink \"" + settings.name + "\": " + outcome.error,
                {.native_code = std::to_string(static_cast<int>(code))});
  }
};

}  // namespace

std::shared_ptr<const SinkFactory> make_factory() { return std::make_shared<HttpFactory>(); }

}  // namespace pillarbox::http
