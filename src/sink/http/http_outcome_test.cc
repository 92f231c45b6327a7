// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_outcome.h"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pillarbox::http {
namespace {

using K = OutcomeKind;

HttpAnswer status(int number, std::optional<Millis> retry_after = {}) {
  return {.status = number, .request_sent = true, .retry_after = retry_after, .endpoint = "h:443"};
}

HttpAnswer failure(CURLcode code, bool sent) {
  return {.curl_code = code, .request_sent = sent, .endpoint = "h:443", .detail = "why"};
}

struct Line {
  int status;
  K kind;
  bool stops_route;
};

// The table of docs/reference/sinks.md.
TEST(HttpOutcome, MapsEachStatus) {
  const std::vector<Line> table = {
      {200, K::delivered, false},  {201, K::delivered, false},   {202, K::delivered, false},
      {204, K::delivered, false},  {299, K::delivered, false},   {300, K::permanent, false},
      {301, K::permanent, false},  {302, K::permanent, false},   {303, K::permanent, false},
      {304, K::permanent, false},  {307, K::permanent, false},   {308, K::permanent, false},
      {400, K::permanent, false},  {401, K::unavailable, true},  {402, K::permanent, false},
      {403, K::unavailable, true}, {404, K::permanent, false},   {405, K::permanent, false},
      {406, K::permanent, false},  {407, K::unavailable, false}, {408, K::throttled, false},
      {409, K::permanent, false},  {410, K::permanent, true},    {411, K::permanent, false},
      {413, K::permanent, false},  {415, K::permanent, false},   {422, K::permanent, false},
      {425, K::throttled, false},  {429, K::throttled, false},   {499, K::permanent, false},
      {500, K::transient, false},  {501, K::transient, false},   {502, K::transient, false},
      {503, K::transient, false},  {504, K::transient, false},   {520, K::transient, false},
      {599, K::transient, false},  {100, K::transient, false},   {101, K::transient, false},
      {199, K::transient, false},  {600, K::transient, false},   {999, K::transient, false},
      {0, K::transient, false},
  };
  for (const Line& line : table) {
    const Outcome outcome = outcome_of(status(line.status), {});
    EXPECT_EQ(outcome.kind, line.kind) << line.status;
    EXPECT_EQ(outcome.stops_route, line.stops_route) << line.status;
    if (line.kind == K::delivered) continue;
    EXPECT_EQ(outcome.code, "http_" + std::to_string(line.status));
    EXPECT_THAT(outcome.error, testing::HasSubstr("h:443")) << line.status;
  }
}

TEST(HttpOutcome, MapsNothingButTwoHundredsToDelivered) {
  for (int number = 0; number < 1000; ++number) {
    const bool is_delivered = outcome_of(status(number), {}).kind == K::delivered;
    EXPECT_EQ(is_delivered, number >= 200 && number < 300) << number;
  }
}

TEST(HttpOutcome, ObeysRetryAfterWithinItsCeiling) {
  const AnswerPolicy policy{.retry_after_max = Millis{3'600'000}};
  const Millis minute{60'000};
  const Millis week{7 * 86'400'000};
  for (const int number : {408, 425, 429, 500, 502, 503, 504}) {
    const Outcome outcome = outcome_of(status(number, minute), policy);
    EXPECT_EQ(outcome.kind, K::throttled) << number;
    EXPECT_EQ(outcome.retry_after, minute) << number;
  }
  EXPECT_EQ(outcome_of(status(429, week), policy).retry_after, Millis{3'600'000});
  EXPECT_EQ(outcome_of(status(503, week), policy).retry_after, Millis{24 * 3'600'000});
  EXPECT_EQ(outcome_of(status(429), policy).retry_after, std::nullopt);
  EXPECT_EQ(outcome_of(status(404, minute), policy).kind, K::permanent);
  EXPECT_EQ(outcome_of(status(202, minute), policy).kind, K::delivered);
}

TEST(HttpOutcome, MakesRedirectsTransientWhereTheRouteSaysSo) {
  for (const int number : {301, 302, 303, 307, 308}) {
    EXPECT_EQ(outcome_of(status(number), {.redirects_are_transient = true}).kind, K::transient);
  }
}

// The host as a whole is down: no message's fault, no attempt spent.
TEST(HttpOutcome, MapsWholeHostFailuresToUnavailable) {
  for (const CURLcode code :
       {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_PROXY,
        CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
        CURLE_SSL_CERTPROBLEM}) {
    const Outcome outcome = outcome_of(failure(code, false), {});
    EXPECT_EQ(outcome.kind, K::unavailable) << code;
    EXPECT_EQ(outcome.code, "curl_" + std::to_string(code));
    EXPECT_THAT(outcome.error, testing::HasSubstr("why"));
    EXPECT_FALSE(outcome.stops_route);
  }
}

TEST(HttpOutcome, TellsATimeoutAfterSendingFromOneBefore) {
  const Outcome sent = outcome_of(failure(CURLE_OPERATION_TIMEDOUT, true), {});
  EXPECT_EQ(sent.kind, K::transient);
  EXPECT_EQ(sent.code, "timeout");
  const Outcome not_sent = outcome_of(failure(CURLE_OPERATION_TIMEDOUT, false), {});
  EXPECT_EQ(not_sent.kind, K::unavailable);
  EXPECT_EQ(not_sent.code, "connect_timeout");
}

TEST(HttpOutcome, MapsCutAndNonsenseAnswersToTransient) {
  for (const CURLcode code : {CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
                              CURLE_PARTIAL_FILE, CURLE_UNSUPPORTED_PROTOCOL,
                              CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY, CURLE_WRITE_ERROR}) {
    EXPECT_EQ(outcome_of(failure(code, true), {}).kind, K::transient) << code;
  }
}

// A proxy writes the status line before it has heard the whole answer.
TEST(HttpOutcome, DoesNotTakeACutTwoHundredForAnAcknowledgement) {
  HttpAnswer answer = status(200);
  answer.curl_code = CURLE_PARTIAL_FILE;
  EXPECT_EQ(outcome_of(answer, {}).kind, K::transient);
  answer.curl_code = CURLE_WRITE_ERROR;
  answer.rest_unread = true;
  EXPECT_EQ(outcome_of(answer, {}).kind, K::delivered);
  answer.status = 500;
  EXPECT_EQ(outcome_of(answer, {}).kind, K::transient);
}

TEST(HttpOutcome, SaysHowToAllowAPrivateAddress) {
  HttpAnswer answer = failure(CURLE_COULDNT_CONNECT, false);
  answer.address_refused = true;
  const Outcome outcome = outcome_of(answer, {});
  EXPECT_EQ(outcome.kind, K::unavailable);
  EXPECT_EQ(outcome.code, "private_address");
  EXPECT_THAT(outcome.error, testing::HasSubstr("allow_private_addresses = true"));
}

TEST(HttpOutcome, KeepsTheBeginningOfTheAnswerCleanForPeople) {
  HttpAnswer answer = status(500);
  answer.body = "oops\r\n\x1b[2J" + std::string(5'000, 'x');
  const Outcome outcome = outcome_of(answer, {});
  EXPECT_THAT(outcome.error, testing::StartsWith("HTTP 500 from h:443: oops [2Jxxx"));
  EXPECT_LE(outcome.error.size(), 2'000U);
}

TEST(HttpOutcome, StopsABatchWhenTheAnswerIsAboutTheEndpoint) {
  EXPECT_TRUE(concerns_endpoint(outcome_of(status(401), {})));
  EXPECT_TRUE(concerns_endpoint(outcome_of(status(410), {})));
  EXPECT_TRUE(concerns_endpoint(outcome_of(status(429), {})));
  EXPECT_TRUE(concerns_endpoint(outcome_of(status(503, Millis{1'000}), {})));
  EXPECT_TRUE(concerns_endpoint(outcome_of(failure(CURLE_COULDNT_CONNECT, false), {})));
  EXPECT_FALSE(concerns_endpoint(outcome_of(status(408), {})));
  EXPECT_FALSE(concerns_endpoint(outcome_of(status(404), {})));
  EXPECT_FALSE(concerns_endpoint(outcome_of(status(503), {})));
  EXPECT_FALSE(concerns_endpoint(outcome_of(status(200), {})));
}

// Nothing was sent for these messages, so no attempt may be spent on them.
TEST(HttpOutcome, SaysOfWhatWasNotSentThatItWasNotSent) {
  for (const int number : {401, 410, 429}) {
    const Outcome outcome = not_sent_because(outcome_of(status(number), {}));
    EXPECT_EQ(outcome.kind, K::not_sent);
    EXPECT_FALSE(outcome.stops_route);
    EXPECT_NE(outcome.error.find("HTTP " + std::to_string(number)), std::string::npos);
  }
  EXPECT_EQ(not_sent_in_time().kind, K::not_sent);
}

}  // namespace
}  // namespace pillarbox::http
