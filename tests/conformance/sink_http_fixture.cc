// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>

#include "pillarbox/webhook.h"
#include "sink/http/factory.h"
#include "tests/conformance/http_receiver.h"
#include "tests/conformance/sink_json.h"
#include "tests/conformance/sink_params.h"

namespace pillarbox::testing {
namespace {

constexpr std::size_t kConnections = 4;
constexpr const char* kKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

class FixedSecret final : public Secret {
 public:
  std::string read() const override { return kKey; }
  std::string where() const override { return "the test"; }
};

std::string payload_of(const JsonMembers& event) {
  const std::string bytes = json_get(event, "data_base64");
  if (!bytes.empty()) return from_base64(json_string(bytes));
  const std::string raw = json_get(event, "data");
  const std::string type = json_get(event, "datacontenttype");
  return type.find("json") == std::string::npos && !type.empty() ? json_string(raw) : raw;
}

// The receiver reads each format by its standard, from what came over the wire.
class HttpFixture final : public SinkFixture {
 public:
  HttpFixture(std::string format, bool is_signed) : format_(std::move(format)), signed_(is_signed) {
    receiver_.respond([this](const HttpReceiver::Request& request) { return respond(request); });
  }
  ~HttpFixture() override { receiver_.stop(); }

  SinkCapabilities capabilities() const override { return http::make_factory()->capabilities(); }
  std::unique_ptr<Sink> connect() override {
    SinkSettings settings{.name = "http",
                          .outbox = "shop",
                          .url = receiver_.url(),
                          .sink = {{"format", format_},
                                   {"connections", std::to_string(kConnections)},
                                   {"allow_private_addresses", "true"}}};
    if (signed_) {
      settings.sink["sign"] = "standard-webhooks";
      settings.secrets = {std::make_shared<FixedSecret>()};
    }
    return http::make_factory()->make(settings);
  }
  std::optional<std::vector<ReceivedMessage>> received() override {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  bool stop() override {
    receiver_.stop();
    return true;
  }
  void start() override { receiver_.start(); }
  bool refuse_next(std::size_t n) override {
    const std::lock_guard lock(mutex_);
    refusals_ = n;
    return true;
  }
  bool refuse_always(MessageId id) override {
    const std::lock_guard lock(mutex_);
    refused_.insert(id.to_string());
    return true;
  }
  bool swallow_answers(bool on) override {
    const std::lock_guard lock(mutex_);
    swallows_ = on;
    return true;
  }
  bool hold_answers(bool on) override {
    receiver_.hold(on);
    return true;
  }
  bool answer_after(Millis delay) override {
    const std::lock_guard lock(mutex_);
    delay_ = delay;
    return true;
  }
  std::optional<std::size_t> calls_at_once() const override {
    if (format_ == "cloudevents-batch") return std::nullopt;
    return kConnections;
  }

 private:
  using Answer = HttpReceiver::Answer;

  std::vector<ReceivedMessage> read(const HttpReceiver::Request& request) const {
    if (format_ == "cloudevents-batch" || format_ == "cloudevents-structured") {
      std::vector<std::string> events = {request.body};
      if (format_ == "cloudevents-batch") events = json_elements(request.body);
      std::vector<ReceivedMessage> out;
      for (const std::string& event : events) {
        const JsonMembers members = json_members(event);
        out.push_back({json_string(json_get(members, "id")), json_string(json_get(members, "type")),
                       payload_of(members)});
      }
      return out;
    }
    if (format_ == "cloudevents-binary") {
      return {{request.header("ce-id"), decoded(request.header("ce-type")), request.body}};
    }
    if (format_ == "standard") {
      const JsonMembers members = json_members(request.body);
      // This body has no place for the payload's type: a receiver knows it from the job type.
      const std::string data = json_get(members, "data");
      const std::string bytes = json_get(members, "data_base64");
      return {{request.header("webhook-id").empty() ? request.header("pillarbox-message-id")
                                                    : request.header("webhook-id"),
               json_string(json_get(members, "type")),
               bytes.empty() ? data : from_base64(json_string(bytes))}};
    }
    return {{request.header("pillarbox-message-id"), decoded(request.header("pillarbox-job-type")),
             request.body}};
  }

  static std::string decoded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%') {
        out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  Answer respond(const HttpReceiver::Request& request) {
    const std::lock_guard lock(mutex_);
    std::vector<ReceivedMessage> messages;
    try {
      messages = read(request);
    } catch (const std::exception& e) {
      return {.status = 400, .body = e.what()};
    }
    if (signed_) {
      const webhook::SignedHeaders headers{request.header("webhook-id"),
                                           request.header("webhook-timestamp"),
                                           request.header("webhook-signature")};
      const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      if (webhook::verify(headers, request.body, {kKey}, now) != webhook::Verdict::valid) {
        return {.status = 400, .body = "bad signature"};
      }
    }
    if (refusals_ > 0) {
      --refusals_;
      return {.status = 503};
    }
    const bool has_refused = std::any_of(
        messages.begin(), messages.end(),
        [&](const ReceivedMessage& message) { return refused_.contains(message.message_id); });
    if (has_refused) return {.status = 422, .body = "not this one"};
    received_.insert(received_.end(), messages.begin(), messages.end());
    if (swallows_) return {.what = Answer::What::silence};
    return {.status = 202, .after = delay_};
  }

  const std::string format_;
  const bool signed_;
  HttpReceiver receiver_;

  std::mutex mutex_;  // guards what follows
  std::vector<ReceivedMessage> received_;
  std::set<std::string> refused_;
  std::size_t refusals_ = 0;
  bool swallows_ = false;
  Millis delay_{0};
};

SinkParam param(const char* name, const char* format, bool is_signed) {
  return {name, [=] { return std::make_unique<HttpFixture>(format, is_signed); }};
}

}  // namespace

std::vector<SinkParam> http_sinks() {
  return {param("HttpRaw", "raw", false),
          param("HttpRawSigned", "raw", true),
          param("HttpCloudEventsBinary", "cloudevents-binary", false),
          param("HttpCloudEventsStructured", "cloudevents-structured", false),
          param("HttpCloudEventsBatch", "cloudevents-batch", false),
          param("HttpCloudEventsBatchSigned", "cloudevents-batch", true),
          param("HttpStandard", "standard", true)};
}

}  // namespace pillarbox::testing
