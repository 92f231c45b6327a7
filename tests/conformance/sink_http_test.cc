// SPDX-License-Identifier: Apache-2.0
// The HTTP sink against a server that does everything a server can do wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <set>

#include "pillarbox/error.h"
#include "pillarbox/webhook.h"
#include "sink/http/factory.h"
#include "tests/conformance/http_receiver.h"

namespace pillarbox::testing {
namespace {

using std::chrono::steady_clock;
using Answer = HttpReceiver::Answer;
using Request = HttpReceiver::Request;
using K = OutcomeKind;

constexpr auto kLong = std::chrono::minutes(2);  // never reached, unless something hangs
const std::string new_key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string old_key = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

class TestSecret final : public Secret {
 public:
  explicit TestSecret(std::string value) : value_(std::move(value)) {}
  std::string read() const override {
    if (value_.empty()) throw Error(ErrorKind::refused, "PBX-2020", "the secret's file is gone");
    return value_;
  }
  std::string where() const override { return "the test"; }
  void set(std::string value) { value_ = std::move(value); }

 private:
  std::string value_;
};

ClaimedMessage message(int n, std::string payload = "{}") {
  ClaimedMessage m;
  m.lease = {.id = RowId{n}, .claim_no = 1};
  std::array<std::uint8_t, 16> bytes{0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80};
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  m.message_id = MessageId(bytes);
  m.job_type = "test.v1";
  m.payload = std::move(payload);
  m.content_type = "application/json";
  m.attempts = 1;
  return m;
}

std::vector<ClaimedMessage> messages(int count) {
  std::vector<ClaimedMessage> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int n = 0; n < count; ++n) out.push_back(message(n));
  return out;
}

class HttpSinkTest : public ::testing::Test {
 protected:
  SinkSettings settings(const std::map<std::string, std::string>& more = {}) const {
    SinkSettings out{.name = "partner", .outbox = "shop", .url = receiver_.url()};
    out.sink = {{"allow_private_addresses", "true"}};
    for (const auto& [key, value] : more) out.sink[key] = value;
    return out;
  }
  static std::unique_ptr<Sink> make(const SinkSettings& settings) {
    return http::make_factory()->make(settings);
  }
  static std::vector<Outcome> deliver(Sink& sink, const std::vector<ClaimedMessage>& batch,
                                      steady_clock::duration time = kLong) {
    std::vector<Outcome> outcomes(batch.size());
    sink.deliver(batch, {.timeout = std::chrono::duration_cast<Millis>(time)}, outcomes);
    return outcomes;
  }
  Outcome deliver_one(const SinkSettings& with, ClaimedMessage m = message(1)) {
    const auto sink = make(with);
    return deliver(*sink, {std::move(m)}).front();
  }
  Outcome answered(const Answer& answer) {
    receiver_.respond([answer](const Request&) { return answer; });
    return deliver_one(settings());
  }

  HttpReceiver receiver_;
};

// ---- the table of answers, over a real connection ----

TEST_F(HttpSinkTest, EachLineOfTheAnswersTableHolds) {
  const std::vector<std::tuple<int, K, bool>> table = {
      {200, K::delivered, false}, {201, K::delivered, false},   {202, K::delivered, false},
      {204, K::delivered, false}, {301, K::permanent, false},   {304, K::permanent, false},
      {400, K::permanent, false}, {401, K::unavailable, true},  {403, K::unavailable, true},
      {404, K::permanent, false}, {407, K::unavailable, false}, {408, K::throttled, false},
      {410, K::permanent, true},  {413, K::permanent, false},   {415, K::permanent, false},
      {422, K::permanent, false}, {425, K::throttled, false},   {429, K::throttled, false},
      {500, K::transient, false}, {502, K::transient, false},   {503, K::transient, false},
      {504, K::transient, false}, {599, K::transient, false},   {999, K::transient, false}};
  for (const auto& [status, kind, stops_route] : table) {
    const Outcome outcome = answered({.status = status, .body = "because"});
    EXPECT_EQ(outcome.kind, kind) << status << " " << outcome.error;
    EXPECT_EQ(outcome.stops_route, stops_route) << status;
    if (kind != K::delivered && status != 304) {
      EXPECT_THAT(outcome.error, ::testing::HasSubstr("because")) << status;
    }
  }
}

TEST_F(HttpSinkTest, ObeysRetryAfterInSecondsAndAsADate) {
  const auto wait = [&](int status, std::vector<std::pair<std::string, std::string>> headers) {
    return answered({.status = status, .headers = std::move(headers)}).retry_after;
  };
  EXPECT_EQ(wait(429, {{"Retry-After", "7"}}), Millis{7'000});
  EXPECT_EQ(wait(503, {{"retry-after", "  90 "}}), Millis{90'000});
  EXPECT_EQ(wait(429, {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                       {"Retry-After", "Sunday, 06-Nov-94 08:50:07 GMT"}}),
            Millis{30'000});
  EXPECT_EQ(wait(429, {{"Retry-After", "Sun, 06 Nov 2994 08:49:37 GMT"}}), std::nullopt);
  EXPECT_EQ(wait(429, {{"Retry-After", "-1"}}), std::nullopt);
  EXPECT_EQ(wait(429, {{"Retry-After", "soon"}}), std::nullopt);
  EXPECT_EQ(wait(429, {{"Retry-After", "99999999999999999999"}}), Millis{3'600'000});
  EXPECT_EQ(answered({.status = 503, .headers = {{"Retry-After", "1"}}}).kind, K::throttled);
}

// ---- redirects ----

TEST_F(HttpSinkTest, NeverFollowsARedirect) {
  HttpReceiver trap;
  for (const int status : {301, 302, 303, 307, 308}) {
    for (const std::string& target :
         {trap.url(), trap.url("localhost"), std::string("http://169.254.169.254/latest/"),
          std::string("http://[::1]/"), std::string("/elsewhere"), std::string("file:///etc/hosts"),
          std::string("gopher://127.0.0.1/")}) {
      const std::size_t before = receiver_.requests().size();
      const Outcome outcome = answered({.status = status, .headers = {{"Location", target}}});
      EXPECT_EQ(outcome.kind, K::permanent) << status << " to " << target;
      EXPECT_EQ(outcome.code, "http_" + std::to_string(status));
      EXPECT_EQ(receiver_.requests().size(), before + 1) << target;
    }
  }
  EXPECT_EQ(trap.connections(), 0);
}

TEST_F(HttpSinkTest, ARedirectIsTransientWhereTheRouteSaysSo) {
  receiver_.respond([](const Request&) { return Answer{.status = 307}; });
  SinkSettings with = settings();
  with.route = {{"redirects", "transient"}};
  EXPECT_EQ(deliver_one(with).kind, K::transient);
}

// ---- private addresses ----

TEST_F(HttpSinkTest, RefusesEverySpellingOfAPrivateAddressWhenItConnects) {
  for (const char* host :
       {"127.0.0.1", "localhost", "any.name.localhost", "2130706433", "0x7f000001", "0177.0.0.1",
        "127.1", "0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "0.0.0.0"}) {
    SinkSettings with = settings({{"allow_private_addresses", "false"}});
    with.url = receiver_.url(host);
    const Outcome outcome = deliver_one(with);
    EXPECT_EQ(outcome.kind, K::unavailable) << host;
    EXPECT_EQ(outcome.code, "private_address") << host << " " << outcome.error;
    EXPECT_THROW((void)http::make_factory()->probe(with, steady_clock::now() + kLong), Error);
  }
  EXPECT_EQ(receiver_.connections(), 0);
}

TEST_F(HttpSinkTest, ConnectsToAPrivateAddressWhereAllowed) {
  EXPECT_EQ(deliver_one(settings()).kind, K::delivered);
  EXPECT_THAT(http::make_factory()->probe(settings(), steady_clock::now() + kLong),
              ::testing::HasSubstr("accepts connections"));
}

// The environment of a service is not the place where its messages are sent.
TEST_F(HttpSinkTest, IgnoresTheEnvironmentsProxies) {
  HttpReceiver proxy;
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    ::setenv(name, proxy.url().c_str(), 1);
  }
  EXPECT_EQ(deliver_one(settings()).kind, K::delivered);
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(proxy.connections(), 0);
  EXPECT_EQ(receiver_.requests().size(), 1U);
}

TEST_F(HttpSinkTest, UsesTheProxyThatIsSet) {
  HttpReceiver proxy;
  SinkSettings with = settings({{"proxy", "http://127.0.0.1:" + std::to_string(proxy.port())}});
  with.url = "http://partner.invalid/hooks";
  EXPECT_EQ(deliver_one(with).kind, K::delivered);
  ASSERT_EQ(proxy.requests().size(), 1U);
  EXPECT_EQ(proxy.requests()[0].target, "http://partner.invalid/hooks");
}

// ---- answers that are none ----

TEST_F(HttpSinkTest, NonsenseAndCutAnswersAreNeverAnAcknowledgement) {
  for (const std::string& raw :
       {std::string("hello\r\n"), std::string("\r\n"), std::string("HTTP/9.9 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 abc OK\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\nContent-Length: 9"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"),
        std::string("HTTP/1.1 100 Continue\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string(5000, '\xFF'), std::string("HTTP/1.1 200")}) {
    const Outcome outcome = answered({.what = Answer::What::raw, .body = raw});
    EXPECT_EQ(outcome.kind, K::transient) << raw.substr(0, 60) << " " << outcome.error;
    EXPECT_FALSE(outcome.code.empty());
  }
  EXPECT_EQ(answered({.what = Answer::What::cut}).kind, K::transient);
}

TEST_F(HttpSinkTest, TakesAnAnswerWithoutALengthThatEndsWithTheConnection) {
  EXPECT_EQ(answered({.what = Answer::What::raw, .body = "HTTP/1.0 200 OK\r\n\r\nfine"}).kind,
            K::delivered);
}

TEST_F(HttpSinkTest, DoesNotReadAnAnswerWithoutEnd) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
  EXPECT_EQ(answered({.what = Answer::What::raw, .body = head + std::string(200'000, 'x')}).kind,
            K::delivered);
  const std::string bad = "HTTP/1.1 500 No\r\nContent-Length: 1000000000\r\n\r\n";
  const Outcome outcome =
      answered({.what = Answer::What::raw, .body = bad + std::string(200'000, 'x')});
  EXPECT_EQ(outcome.kind, K::transient);
  EXPECT_LE(outcome.error.size(), 2'048U);
}

TEST_F(HttpSinkTest, AnInterimAnswerDoesNotCount) {
  const std::string raw =
      "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: "
      "0\r\n\r\n";
  const Outcome outcome = answered({.what = Answer::What::raw, .body = raw});
  EXPECT_EQ(outcome.code, "http_429");
  EXPECT_EQ(outcome.retry_after, std::nullopt);
}

// ---- deadlines ----

TEST_F(HttpSinkTest, ComesBackWhenTheTimeIsOverThoughNobodyAnswers) {
  receiver_.respond([](const Request&) { return Answer{.what = Answer::What::silence}; });
  const auto sink = make(settings({{"connections", "4"}}));
  std::vector<Outcome> outcomes(10);
  sink->deliver(messages(10),
                {.timeout = Millis{200}, .start_before = steady_clock::now() + Millis{100}},
                outcomes);
  int timeouts = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.code == "timeout") {
      EXPECT_EQ(outcome.kind, K::transient);
      ++timeouts;
    } else {
      EXPECT_EQ(outcome.kind, K::not_sent) << outcome.code;
    }
  }
  EXPECT_EQ(timeouts, 4);
  EXPECT_EQ(receiver_.requests().size(), 4U);
}

TEST_F(HttpSinkTest, OneSlowAnswerDoesNotCostTheOthers) {
  receiver_.respond([](const Request& request) {
    return request.header("pillarbox-message-id").ends_with("0003")
               ? Answer{.what = Answer::What::silence}
               : Answer{};
  });
  const auto sink = make(settings({{"connections", "2"}}));
  const auto outcomes = deliver(*sink, messages(30), Millis{500});
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, i == 3 ? K::transient : K::delivered) << i;
  }
}

TEST_F(HttpSinkTest, DoesNotEvenConnectWhenTheBatchsTimeIsOver) {
  const auto sink = make(settings());
  std::vector<Outcome> outcomes(3);
  sink->deliver(messages(3), {.start_before = steady_clock::now()}, outcomes);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.kind, K::not_sent);
  EXPECT_EQ(receiver_.connections(), 0);
}

// A late answer of an abandoned request must not be taken for the next one's.
TEST_F(HttpSinkTest, AnAnswerThatCameTooLateCountsForNobody) {
  std::atomic<bool> is_silent{true};
  receiver_.respond([&](const Request&) {
    return is_silent ? Answer{.what = Answer::What::silence} : Answer{.status = 418};
  });
  const auto sink = make(settings({{"connections", "1"}}));
  EXPECT_EQ(deliver(*sink, messages(1), Millis{100})[0].code, "timeout");
  is_silent = false;
  EXPECT_EQ(deliver(*sink, messages(1))[0].code, "http_418");
  const auto requests = receiver_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_NE(requests[0].connection, requests[1].connection);
}

// ---- whole-host failures ----

TEST_F(HttpSinkTest, AHostThatIsDownIsAskedOnceAndNoAttemptIsSpent) {
  receiver_.stop();
  const auto sink = make(settings({{"connections", "2"}}));
  const auto outcomes = deliver(*sink, messages(50));
  EXPECT_EQ(outcomes.front().kind, K::unavailable);
  EXPECT_EQ(outcomes.front().code, "curl_7");
  for (std::size_t i = 2; i < outcomes.size(); ++i) EXPECT_EQ(outcomes[i].kind, K::not_sent) << i;
  EXPECT_THAT(outcomes.back().error, ::testing::HasSubstr("not sent"));
}

TEST_F(HttpSinkTest, ANameThatDoesNotExistIsUnavailable) {
  SinkSettings with = settings();
  with.url = "http://no-such-host.invalid/";
  EXPECT_EQ(deliver_one(with).code, "curl_6");
}

TEST_F(HttpSinkTest, AServerThatSpeaksNoTlsIsUnavailable) {
  SinkSettings with = settings();
  with.url = "https://127.0.0.1:" + std::to_string(receiver_.port()) + "/";
  const Outcome outcome = deliver_one(with);
  EXPECT_EQ(outcome.kind, K::unavailable) << outcome.code;
}

// 410 and 401 are said once; asking fifty times more would make it worse.
TEST_F(HttpSinkTest, StopsSendingWhenTheAnswerIsAboutTheEndpoint) {
  for (const int status : {401, 410, 429}) {
    HttpReceiver receiver;
    receiver.respond([=](const Request&) { return Answer{.status = status}; });
    SinkSettings with = settings({{"connections", "2"}});
    with.url = receiver.url();
    const auto sink = make(with);
    const auto outcomes = deliver(*sink, messages(50));
    EXPECT_LE(receiver.requests().size(), 4U) << status;
    EXPECT_NE(outcomes.back().kind, K::permanent) << status;
    EXPECT_NE(outcomes.back().kind, K::transient) << status;
  }
}

// ---- connections ----

TEST_F(HttpSinkTest, KeepsItsConnectionsAndOpensNoMoreThanAllowed) {
  const auto sink = make(settings({{"connections", "3"}}));
  for (int round = 0; round < 5; ++round) deliver(*sink, messages(40));
  EXPECT_EQ(receiver_.requests().size(), 200U);
  EXPECT_LE(receiver_.connections(), 3);
}

TEST_F(HttpSinkTest, SendsSeveralRequestsAtOnce) {
  // No answer comes, so a second request is only seen where it does not wait for the first.
  std::atomic<int> seen{0};
  receiver_.respond([&](const Request&) {
    ++seen;
    return Answer{.what = Answer::What::silence};
  });
  const auto sink = make(settings({{"connections", "4"}}));
  std::vector<Outcome> outcomes(8);
  sink->deliver(messages(8),
                {.timeout = Millis{300}, .start_before = steady_clock::now() + Millis{150}},
                outcomes);
  EXPECT_EQ(seen, 4);
}

TEST_F(HttpSinkTest, SurvivesAServerThatClosesEachConnection) {
  receiver_.respond([](const Request&) {
    return Answer{.what = Answer::What::raw,
                  .body = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"};
  });
  const auto sink = make(settings());
  for (const Outcome& outcome : deliver(*sink, messages(50))) {
    EXPECT_EQ(outcome.kind, K::delivered) << outcome.error;
  }
}

// ---- requests ----

TEST_F(HttpSinkTest, SaysWhoItIsAndAsksForNothingElse) {
  deliver_one(settings());
  const auto requests = receiver_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/hooks");
  EXPECT_THAT(requests[0].header("user-agent"), ::testing::StartsWith("Pillarbox/"));
  for (const char* absent : {"expect", "accept-encoding", "cookie", "authorization", "referer"}) {
    EXPECT_EQ(requests[0].header(absent), "") << absent;
  }
}

TEST_F(HttpSinkTest, SendsALargeBodyWithoutWaitingForPermission) {
  deliver_one(settings(), message(1, "\"" + std::string(5'000'000, 'x') + "\""));
  const auto requests = receiver_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].body.size(), 5'000'002U);
  EXPECT_EQ(requests[0].header("expect"), "");
}

TEST_F(HttpSinkTest, SendsTheCredentialsThatAreCurrent) {
  const auto password = std::make_shared<TestSecret>("first");
  SinkSettings with = settings();
  with.password = password;
  const auto sink = make(with);
  deliver(*sink, messages(1));
  password->set("second\n");
  deliver(*sink, messages(1));
  const auto requests = receiver_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].header("authorization"), "Bearer first");
  EXPECT_EQ(requests[1].header("authorization"), "Bearer second");
}

TEST_F(HttpSinkTest, ASecretThatCannotBeReadIsAnOutageAndNotPoison) {
  SinkSettings with = settings();
  with.password = std::make_shared<TestSecret>("");
  const Outcome outcome = deliver_one(with);
  EXPECT_EQ(outcome.kind, K::unavailable);
  EXPECT_EQ(outcome.code, "secret_unreadable");
  EXPECT_EQ(receiver_.connections(), 0);
}

// ---- signatures ----

webhook::Verdict verdict(const Request& request, const std::string& key) {
  return webhook::verify(
      {request.header("webhook-id"), request.header("webhook-timestamp"),
       request.header("webhook-signature")},
      request.body, {key},
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

TEST_F(HttpSinkTest, SignsTheRawBytesOnTheFirstAttemptAndOnTheFifth) {
  std::string all_bytes;
  for (int c = 0; c < 256; ++c) all_bytes += static_cast<char>(c);
  SinkSettings with = settings({{"sign", "standard-webhooks"}});
  with.secrets = {std::make_shared<TestSecret>(new_key)};
  const auto sink = make(with);
  for (const std::string& payload :
       {std::string("{ \"a\" : 1e400 ,\"a\":9007199254740993}"), std::string("\"\xE2\x82\xAC\""),
        std::string(" {}\n"), std::string(), all_bytes}) {
    for (const int attempt : {1, 5}) {
      ClaimedMessage m = message(attempt, payload);
      m.attempts = attempt;
      ASSERT_EQ(deliver(*sink, {m})[0].kind, K::delivered);
      const Request request = receiver_.requests().back();
      EXPECT_EQ(request.body, payload);
      EXPECT_EQ(request.header("webhook-id"), m.message_id.to_string());
      EXPECT_EQ(request.header("pillarbox-attempt"), std::to_string(attempt));
      EXPECT_EQ(verdict(request, new_key), webhook::Verdict::valid);
      EXPECT_EQ(verdict(request, old_key), webhook::Verdict::bad_signature);
    }
  }
}

// New and old key while rotating; then the old one goes, without a restart.
TEST_F(HttpSinkTest, SignsWithAllKeysWhileRotatingAndTakesUpNewOnes) {
  const auto first = std::make_shared<TestSecret>(new_key);
  SinkSettings with = settings({{"sign", "standard-webhooks"}});
  with.secrets = {first, std::make_shared<TestSecret>(old_key)};
  const auto sink = make(with);
  deliver(*sink, messages(1));
  EXPECT_EQ(verdict(receiver_.requests().back(), new_key), webhook::Verdict::valid);
  EXPECT_EQ(verdict(receiver_.requests().back(), old_key), webhook::Verdict::valid);
  first->set(old_key);
  deliver(*sink, messages(1));
  EXPECT_EQ(verdict(receiver_.requests().back(), new_key), webhook::Verdict::bad_signature);
  first->set("whsec_not*base64");
  const Outcome outcome = deliver(*sink, messages(1))[0];
  EXPECT_EQ(outcome.code, "secret_unreadable");
  EXPECT_THAT(outcome.error, ::testing::Not(::testing::HasSubstr("not*base64")));
}

// ---- batches ----

TEST_F(HttpSinkTest, ABatchIsOneRequestAndAllOrNothingByItsStatus) {
  const auto sink = make(settings({{"format", "cloudevents-batch"}}));
  for (const Outcome& outcome : deliver(*sink, messages(20))) {
    EXPECT_EQ(outcome.kind, K::delivered);
  }
  EXPECT_EQ(receiver_.requests().size(), 1U);
  receiver_.respond([](const Request&) { return Answer{.status = 503}; });
  for (const Outcome& outcome : deliver(*sink, messages(20))) {
    EXPECT_EQ(outcome.kind, K::transient);
    EXPECT_EQ(outcome.code, "http_503");
  }
  EXPECT_EQ(receiver_.requests().size(), 2U);
}

// Halved until the bad one stands alone, and not further.
TEST_F(HttpSinkTest, ARefusedBatchIsHalvedAndNotSentMessageByMessage) {
  receiver_.respond([](const Request& request) {
    const bool has_bad = request.body.find("00000000000d") != std::string::npos;
    return Answer{.status = has_bad ? 422 : 200};
  });
  const auto sink = make(settings({{"format", "cloudevents-batch"}, {"connections", "1"}}));
  const auto outcomes = deliver(*sink, messages(64));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, i == 13 ? K::permanent : K::delivered) << i;
  }
  EXPECT_EQ(receiver_.requests().size(), 13U);  // 1 + 2 for each halving of 64
}

// ---- what an operator sees ----

TEST_F(HttpSinkTest, NoOutcomeShowsAPasswordOrThePath) {
  SinkSettings with = settings();
  with.url = "http://user:hunter2@127.0.0.1:" + std::to_string(receiver_.port()) + "/secret-path";
  receiver_.respond([](const Request&) { return Answer{.status = 500}; });
  EXPECT_THAT(deliver_one(with).error,
              ::testing::Not(::testing::ContainsRegex("hunter2|secret-path")));
  receiver_.stop();
  EXPECT_THAT(deliver_one(with).error,
              ::testing::Not(::testing::ContainsRegex("hunter2|secret-path")));
}

TEST_F(HttpSinkTest, ProbeSaysWhyWithoutSendingAMessage) {
  const auto factory = http::make_factory();
  EXPECT_THAT(factory->probe(settings(), steady_clock::now() + kLong),
              ::testing::HasSubstr("without TLS"));
  EXPECT_TRUE(receiver_.requests().empty());
  receiver_.stop();
  try {
    (void)factory->probe(settings(), steady_clock::now() + kLong);
    ADD_FAILURE() << "a stopped endpoint was taken for one that answers";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "PBX-5004");
    EXPECT_EQ(e.kind(), ErrorKind::unreachable);
  }
}

}  // namespace
}  // namespace pillarbox::testing
