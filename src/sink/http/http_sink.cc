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

constexpr Millis kPoll{1'000};  // libcurl comes back earlier for what it waits for itself

}  // namespace

// What one call to deliver() is about.
struct HttpSink::Round {
  std::span<const ClaimedMessage> batch;
  const DeliveryLimits& limits;
  std::span<Outcome> outcomes;
  Instant began;
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
  Round round{batch, limits, outcomes, steady_clock::now()};
  plan(batch.size());
  for (;;) {
    start_requests(round);
    if (running_.empty()) break;
    const std::size_t before = running_.size();
    advance(&round);
    if (running_.size() < before) continue;  // there is room for the next ones
    const bool all_started = !may_start_next(round);
    if (all_started && sends_single_messages()) {
      if (steady_clock::now() >= limits.leave_after) {
        leave_in_flight(round);
        break;
      }
      wait(limits.leave_after);
    } else {
      // What waits for its turn is given back when the time is over, and not at the next answer.
      wait(all_started || waiting_.back().was_refused ? Instant::max() : limits.start_before);
    }
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
  return sends_single_messages() ? pace_.room(running_.size()) : kNoBound;
}

// Only requests of one message each are left: one of many that is refused is halved, and for that
// its messages are needed.
void HttpSink::leave_in_flight(Round& round) {
  for (Exchange* exchange : running_) {
    if (exchange->is_late()) continue;
    PILLARBOX_ASSERT(exchange->count() == 1);
    round.outcomes[exchange->first()] = Outcome::in_flight();
    exchange->leave_in_flight();
  }
}

std::vector<LateOutcome> HttpSink::collect(Instant until) {
  const sink::SigpipeGuard guard;
  while (!running_.empty()) {
    advance(nullptr);
    if (!late_.empty() || steady_clock::now() >= until) break;
    wait(until);
  }
  return std::exchange(late_, {});
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
  while (running_.size() < config_.connections && may_start_next(round)) {
    const Range range = waiting_.back();
    waiting_.pop_back();
    start(round, range);
  }
}

bool HttpSink::may_start_next(const Round& round) const {
  if (round.stop || waiting_.empty()) return false;
  return waiting_.back().was_refused ? round.limits.may_sort_out(round.began)
                                     : round.limits.may_start();
}

void HttpSink::start(Round& round, Range range) {
  Exchange* const exchange = idle_exchange();
  const auto messages = round.batch.subspan(range.first, range.count);
  build_request(config_, authorization_, messages, exchange->request());
  if (signer_) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    sign_request(*signer_, messages, now, exchange->request());
  }
  exchange->arm(range.first, range.count, messages.front().lease, round.limits.timeout);
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

// What has been answered is heard before anything is given up: we may have been away for long.
void HttpSink::advance(Round* round) {
  int still_running = 0;
  const CURLMcode performed = curl_multi_perform(multi_.get(), &still_running);
  PILLARBOX_ASSERT(performed == CURLM_OK);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message dies with the next call
    void* self = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
    finish(round, *static_cast<Exchange*>(self), code);
  }
  const Instant now = steady_clock::now();
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (running_[i]->give_up_at() <= now) finish(round, *running_[i], CURLE_OPERATION_TIMEDOUT);
  }
}

// For anything to happen on a connection, and no longer than a call may take.
void HttpSink::wait(Instant until) {
  const Instant now = steady_clock::now();
  until = std::min(until, now + kPoll);
  for (const Exchange* exchange : running_) until = std::min(until, exchange->give_up_at());
  const auto left = std::max<std::int64_t>(0, std::chrono::ceil<Millis>(until - now).count());
  curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(left), nullptr);
}

void HttpSink::finish(Round* round, Exchange& exchange, CURLcode code) {
  const Outcome outcome = outcome_of(exchange.answer(code), config_.answers);
  curl_multi_remove_handle(multi_.get(), exchange.easy());
  running_.erase(std::find(running_.begin(), running_.end(), &exchange));
  idle_.push_back(&exchange);
  pace_.ended(steady_clock::now() - exchange.began());

  const bool is_about_endpoint = concerns_endpoint(outcome);
  if (is_about_endpoint && round != nullptr && !round->stop) round->stop = outcome;
  if (exchange.is_late()) {
    late_.push_back({exchange.lease(), outcome});
    return;
  }
  PILLARBOX_ASSERT(round != nullptr);
  const auto first = round->outcomes.begin() + static_cast<std::ptrdiff_t>(exchange.first());
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
