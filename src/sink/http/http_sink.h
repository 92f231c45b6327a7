// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/handle.h"
#include "pillarbox/sink.h"
#include "sink/http/exchange.h"
#include "sink/http/http_config.h"
#include "sink/pace.h"
#include "sink/webhook/signer.h"

namespace pillarbox::http {

using MultiHandle = core::Handle<CURLM, &curl_multi_cleanup>;

// One worker's connections to one endpoint. A batch runs as up to `connections` requests at once,
// and over connections that stay open between batches.
class HttpSink final : public Sink {
 public:
  explicit HttpSink(HttpConfig config);
  ~HttpSink() override;
  HttpSink(const HttpSink&) = delete;
  HttpSink& operator=(const HttpSink&) = delete;

  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override;
  [[nodiscard]] std::vector<LateOutcome> collect(Instant until) override;
  [[nodiscard]] std::size_t room() const override;

 private:
  struct Range {
    std::size_t first;
    std::size_t count;
    bool was_refused = false;  // together with others, in a batch that is now being halved
  };
  struct Round;

  void read_secrets();
  void plan(std::size_t messages);
  void start_requests(Round& round);
  [[nodiscard]] bool may_start_next(const Round& round) const;
  void start(Round& round, Range range);
  // `round` is null between deliveries.
  void advance(Round* round);
  void finish(Round* round, Exchange& exchange, CURLcode code);
  void wait(Instant until);
  void leave_in_flight(Round& round);
  [[nodiscard]] bool sends_single_messages() const {
    return config_.format != Format::cloudevents_batch;
  }
  [[nodiscard]] Exchange* idle_exchange();

  // Order matters: exchanges leave the multi handle before it goes.
  const HttpConfig config_;
  MultiHandle multi_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<Exchange*> idle_;
  std::vector<Exchange*> running_;
  std::vector<Range> waiting_;     // next one last
  std::vector<LateOutcome> late_;  // ended and not yet told
  std::vector<std::string> keys_;
  std::optional<webhook::Signer> signer_;  // of keys_
  std::string authorization_;
  sink::Pace pace_;
};

// The value of the Authorization header: Basic where the URL has a user, Bearer with a password
// alone, else empty. Throws Error(refused) when the password's source is gone.
[[nodiscard]] std::string authorization_of(const HttpConfig& config);

}  // namespace pillarbox::http
