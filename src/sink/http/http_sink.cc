// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_sink.h"

#include <algorithm>
#include <new>

#include "core/assert.h"
#include "pillarbox/error.h"
#include "sink/http/http_outcome.h"
#include "sink/sigpipe.h"
#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

using std::chrono::steady_clock;

constexpr int kPollMs = 1'000;  // libcurl comes back earlier for each timeout of its own

}  // namespace

// What one call to deliver() is about.
struct HttpSink::Round {
  std::span<const ClaimedMessage> batch;
  const DeliveryLimits& limits;
  std::span<Outcome> outcomes;
  std::optional<Outcome> stop = {};  // why nothing more is sent to this endpoint now
};

HttpSink::HttpSink(HttpConfig config) : config_(std::move(config)), pace_(config_.connections) {
  init_curl();
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
  const long connections = static_cast<long>(config_.connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
}

HttpSink::~HttpSink() {
  for (Exchange* exchange : running_) curl_multi_remove_handle(multi_.get(), exchange->easy());
}

void HttpSink::deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
                       std::span<Outcome> outcomes) {
  PILLARBOX_ASSERT(batch.size() == outcomes.size());
  if (batch.empty()) return;
  const sink::SigpipeGuard guard;
  try {
    read_secrets();
  } catch (const Error& e) {
    std::fill(outcomes.begin(), outcomes.end(),
              Outcome::unavailable("secret_unreadable", e.what()));
    return;
  }
  Round round{batch, limits, outcomes};
  plan(batch.size());
  for (;;) {
    start_requests(round);
    if (running_.empty()) break;
    int still_running = 0;
    const CURLMcode code = curl_multi_perform(multi_.get(), &still_running);
    PILLARBOX_ASSERT(code == CURLM_OK);
    const std::size_t before = running_.size();
    reap(round);
    if (running_.size() < before) continue;  // there is room for the next ones
    curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  const Outcome rest = round.stop ? not_sent_because(*round.stop) : not_sent_in_time();
  for (const Range& range : waiting_) {
    if (range.was_refused) continue;  // their attempt counts: they have their outcome
    std::fill_n(outcomes.begin() + static_cast<std::ptrdiff_t>(range.first), range.count, rest);
  }
  waiting_.clear();
}

// A request of many messages takes about as long as one of few.
std::size_t HttpSink::room() const {
  return config_.format == Format::cloudevents_batch ? kNoBound : pace_.room();
}

// Each batch reads them anew, so a rotated secret is taken up; only a changed one costs more.
void HttpSink::read_secrets() {
  authorization_ = authorization_of(config_);
  if (!config_.signs) return;
  std::vector<std::string> keys;
  for (const auto& secret : config_.secrets) keys.push_back(secret->read());
  if (signer_ && keys == keys_) return;
  signer_.emplace(keys);
  keys_ = std::move(keys);
}

void HttpSink::plan(std::size_t messages) {
  waiting_.clear();
  if (config_.format == Format::cloudevents_batch) {
    waiting_.push_back({0, messages});
    return;
  }
  for (std::size_t i = messages; i-- > 0;) waiting_.push_back({i, 1});
}

void HttpSink::start_requests(Round& round) {
  while (!round.stop && !waiting_.empty() && running_.size() < config_.connections &&
         round.limits.may_start()) {
    const Range range = waiting_.back();
    waiting_.pop_back();
    start(round, range);
  }
}

void HttpSink::start(Round& round, Range range) {
  Exchange* const exchange = idle_exchange();
  const auto messages = round.batch.subspan(range.first, range.count);
  build_request(config_, authorization_, messages, exchange->request());
  if (signer_) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    sign_request(*signer_, messages, now, exchange->request());
  }
  exchange->arm(range.first, range.count, round.limits.timeout);
  const CURLMcode code = curl_multi_add_handle(multi_.get(), exchange->easy());
  PILLARBOX_ASSERT(code == CURLM_OK);
  running_.push_back(exchange);
}

Exchange* HttpSink::idle_exchange() {
  if (idle_.empty()) {
    exchanges_.push_back(std::make_unique<Exchange>(config_));
    return exchanges_.back().get();
  }
  Exchange* const exchange = idle_.back();
  idle_.pop_back();
  return exchange;
}

void HttpSink::reap(Round& round) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message dies with the next call
    void* self = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
    finish(round, *static_cast<Exchange*>(self), code);
  }
}

void HttpSink::finish(Round& round, Exchange& exchange, CURLcode code) {
  const Outcome outcome = outcome_of(exchange.answer(code), config_.answers);
  curl_multi_remove_handle(multi_.get(), exchange.easy());
  running_.erase(std::find(running_.begin(), running_.end(), &exchange));
  idle_.push_back(&exchange);
  pace_.ended(steady_clock::now() - exchange.began());

  const auto first = round.outcomes.begin() + static_cast<std::ptrdiff_t>(exchange.first());
  const bool is_about_endpoint = concerns_endpoint(outcome);
  if (is_about_endpoint && !round.stop) round.stop = outcome;
  if (outcome.kind == OutcomeKind::permanent && exchange.count() > 1 && !is_about_endpoint) {
    // One bad message must not take its neighbours along: halve until it stands alone.
    std::fill_n(first, exchange.count(),
                Outcome::transient("batch_" + outcome.code, outcome.error));
    const std::size_t half = exchange.count() / 2;
    waiting_.push_back({exchange.first() + half, exchange.count() - half, true});
    waiting_.push_back({exchange.first(), half, true});
    return;
  }
  std::fill_n(first, exchange.count(), outcome);
}

std::string authorization_of(const HttpConfig& config) {
  std::string password =
      config.password ? config.password->read() : config.url_password.value_or("");
  while (password.ends_with('\n') || password.ends_with('\r')) password.pop_back();
  if (!config.user.empty()) {
    std::string out = "Basic ";
    sink::append_base64(out, config.user + ":" + password);
    return out;
  }
  return password.empty() ? "" : "Bearer " + password;
}

}  // namespace pillarbox::http
