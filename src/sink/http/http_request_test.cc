// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "json/json.h"
#include "pillarbox/webhook.h"

namespace pillarbox::http {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ClaimedMessage message(std::string payload = R"({ "n": 1e400,"n":9007199254740993 })") {
  ClaimedMessage m;
  m.lease.id = RowId{42};
  m.message_id = *MessageId::parse("01900000-0000-7000-8000-000000000001");
  m.job_type = "email.welcome.v1";
  m.payload = std::move(payload);
  m.content_type = "application/json";
  m.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
               {"tracestate", "a=1,b=2"},
               {"tenant", "Acme Inc"}};
  m.correlation_id = "corr \xE2\x82\xAC";
  m.ordering_key = "order-17";
  m.attempts = 3;
  return m;
}

HttpConfig config(Format format) {
  HttpConfig c;
  c.format = format;
  c.source = "pillarbox/shop";
  return c;
}

struct Sent {
  std::vector<std::string> headers;
  std::string body;
};

Sent build(const HttpConfig& c, const std::vector<ClaimedMessage>& messages) {
  HttpRequest request;
  build_request(c, "", messages, request);
  Sent sent{{}, std::string(request.body)};
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    sent.headers.emplace_back(request.headers.line(i));
  }
  return sent;
}

TEST(HttpRequest, RawSendsThePayloadsBytesAndTheFactsAsHeaders) {
  const Sent sent = build(config(Format::raw), {message()});
  EXPECT_EQ(sent.body, message().payload);
  for (const char* line :
       {"Content-Type: application/json",
        "pillarbox-message-id: 01900000-0000-7000-8000-000000000001",
        "pillarbox-job-type: email.welcome.v1", "pillarbox-attempt: 3",
        "pillarbox-correlation-id: corr%20%E2%82%AC", "pillarbox-ordering-key: order-17",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate: a=1,b=2", "tenant: Acme Inc"}) {
    EXPECT_THAT(sent.headers, Contains(line));
  }
  EXPECT_THAT(sent.headers, Each(Not(StartsWith("ce-"))));
}

TEST(HttpRequest, BinaryCloudEventsHaveTheirAttributesAsHeaders) {
  const Sent sent = build(config(Format::cloudevents_binary), {message()});
  EXPECT_EQ(sent.body, message().payload);
  for (const char* line :
       {"Content-Type: application/json", "ce-specversion: 1.0",
        "ce-id: 01900000-0000-7000-8000-000000000001", "ce-source: pillarbox/shop",
        "ce-type: email.welcome.v1", "ce-time: 1970-01-01T00:00:00.000Z",
        "ce-partitionkey: order-17", "ce-sequence: 00000000000000000042",
        "ce-correlationid: corr%20%E2%82%AC", "ce-tracestate: a=1,b=2"}) {
    EXPECT_THAT(sent.headers, Contains(line));
  }
  EXPECT_THAT(sent.headers, Each(Not(StartsWith("ce-datacontenttype"))));
}

TEST(HttpRequest, StructuredCloudEventsHoldThePayloadAsItIs) {
  const Sent sent = build(config(Format::cloudevents_structured), {message()});
  EXPECT_THAT(sent.headers, Contains("Content-Type: application/cloudevents+json; charset=utf-8"));
  EXPECT_EQ(
      sent.body,
      R"({"specversion":"1.0","id":"01900000-0000-7000-8000-000000000001","source":"pillarbox/shop",)"
      R"("type":"email.welcome.v1","time":"1970-01-01T00:00:00.000Z","partitionkey":"order-17",)"
      R"("sequence":"00000000000000000042","correlationid":"corr )"
      "\xE2\x82\xAC"
      R"(","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",)"
      R"("tracestate":"a=1,b=2","datacontenttype":"application/json",)"
      R"("data":{ "n": 1e400,"n":9007199254740993 }})");
}

TEST(HttpRequest, LeavesAbsentAttributesOut) {
  ClaimedMessage m = message();
  m.headers.clear();
  m.correlation_id.clear();
  m.ordering_key.clear();
  const Sent structured = build(config(Format::cloudevents_structured), {m});
  for (const char* name : {"partitionkey", "correlationid", "traceparent", "tracestate"}) {
    EXPECT_THAT(structured.body, Not(HasSubstr(name)));
  }
  const Sent binary = build(config(Format::cloudevents_binary), {m});
  EXPECT_THAT(binary.headers, Each(Not(StartsWith("ce-partitionkey"))));
}

TEST(HttpRequest, PutsTextIntoAStringAndBytesIntoBase64) {
  ClaimedMessage m = message("caf\xC3\xA9");
  m.content_type = "text/plain";
  EXPECT_THAT(build(config(Format::cloudevents_structured), {m}).body,
              HasSubstr("\"data\":\"caf\xC3\xA9\"}"));
  m.content_type = "application/octet-stream";
  m.payload = std::string("\0\xFF", 2);
  EXPECT_THAT(build(config(Format::cloudevents_structured), {m}).body,
              HasSubstr(R"("datacontenttype":"application/octet-stream","data_base64":"AP8="})"));
}

// A row edited by hand may say JSON and hold none. Embedded, it would break or forge the event.
TEST(HttpRequest, NeverEmbedsAPayloadThatIsNotTheJsonItClaimsToBe) {
  for (const char* payload : {"", "{", R"(1},"id":"forged"})", "\xFF", "{}{}"}) {
    const Sent sent = build(config(Format::cloudevents_structured), {message(payload)});
    EXPECT_TRUE(json::is_valid(sent.body)) << sent.body;
    EXPECT_THAT(sent.body, HasSubstr("data_base64")) << payload;
    EXPECT_THAT(sent.body, Not(HasSubstr("forged")));
  }
}

TEST(HttpRequest, BatchIsAnArrayAndTurnsFittingHeadersIntoExtensions) {
  ClaimedMessage m = message();
  m.headers.emplace_back("Not-Fitting", "x");
  m.headers.emplace_back("id", "forged");
  const Sent sent = build(config(Format::cloudevents_batch), {m, message("2")});
  EXPECT_THAT(sent.headers,
              Contains("Content-Type: application/cloudevents-batch+json; charset=utf-8"));
  EXPECT_TRUE(json::is_valid(sent.body));
  EXPECT_THAT(sent.body, StartsWith("[{"));
  EXPECT_THAT(sent.body, HasSubstr(R"("tenant":"Acme Inc")"));
  EXPECT_THAT(sent.body, Not(HasSubstr("Not-Fitting")));
  EXPECT_THAT(sent.body, Not(HasSubstr("forged")));
  EXPECT_THAT(sent.body, HasSubstr(R"("data":2})"));
  EXPECT_THAT(sent.headers, Each(Not(StartsWith("pillarbox-"))));
}

TEST(HttpRequest, StandardBodyHasTypeTimestampAndData) {
  const Sent sent = build(config(Format::standard), {message("[1, 2]")});
  EXPECT_EQ(sent.body, R"({"type":"email.welcome.v1","timestamp":"1970-01-01T00:00:00.000Z",)"
                       R"("data":[1, 2]})");
}

TEST(HttpRequest, SendsTheIdempotencyKeyWhereAskedFor) {
  HttpConfig c = config(Format::raw);
  EXPECT_THAT(build(c, {message()}).headers, Each(Not(StartsWith("Idempotency-Key"))));
  c.sends_idempotency_key = true;
  EXPECT_THAT(build(c, {message()}).headers,
              Contains("Idempotency-Key: 01900000-0000-7000-8000-000000000001"));
}

TEST(HttpRequest, DoesNotLetAMessageWriteTheRequestsOwnHeaders) {
  ClaimedMessage m = message();
  m.content_type = "text/plain\r\nX-Evil: 1";
  m.job_type = "a\r\nX-Evil: 1";
  m.headers = {{"Authorization", "Bearer stolen"}, {"x\r\nX-Evil", "1"}, {"y", "1\r\nX-Evil: 1"}};
  for (const Format format : {Format::raw, Format::cloudevents_binary,
                              Format::cloudevents_structured, Format::standard}) {
    for (const std::string& line : build(config(format), {m}).headers) {
      EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos) << line;
      EXPECT_THAT(line, Not(HasSubstr("stolen")));
    }
  }
}

// Whatever bytes a row holds, what is sent is one well-formed event with clean header lines.
TEST(HttpRequest, StaysWellFormedForAnyBytesInAnyField) {
  std::mt19937 random(20261201);
  const std::string_view alphabet("\"\\{}[],:\r\n\t\0 %a1\xC3\xA9\xFF\xED\xA0\x80", 22);
  const auto text = [&] {
    std::string out(random() % 24, ' ');
    for (char& c : out) {
      c = random() % 4 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    return out;
  };
  for (int round = 0; round < 2'000; ++round) {
    ClaimedMessage m = message(text());
    m.job_type = text();
    m.correlation_id = text();
    m.ordering_key = text();
    m.content_type = round % 3 == 0 ? text() : round % 3 == 1 ? "application/json" : "text/plain";
    m.headers = {{text(), text()}, {"tenant", text()}, {"traceparent", text()}};
    for (const Format format :
         {Format::raw, Format::cloudevents_binary, Format::cloudevents_structured,
          Format::cloudevents_batch, Format::standard}) {
      const Sent sent = build(config(format), {m});
      if (format == Format::raw || format == Format::cloudevents_binary) {
        EXPECT_EQ(sent.body, m.payload);
      } else {
        EXPECT_TRUE(json::is_valid(sent.body)) << sent.body;
      }
      for (const std::string& line : sent.headers) {
        EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
          return c >= 0x20 && c < 0x7F;
        })) << line;
      }
    }
  }
}

TEST(HttpRequest, SignsTheBodyThatIsSentInEveryFormat) {
  const std::vector<std::string> keys = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  constexpr std::chrono::sys_seconds kNow{std::chrono::seconds{1'700'000'000}};
  webhook::Signer signer(keys);
  for (const Format format :
       {Format::raw, Format::cloudevents_binary, Format::cloudevents_structured,
        Format::cloudevents_batch, Format::standard}) {
    HttpRequest request;
    const std::vector<ClaimedMessage> one = {message()};
    build_request(config(format), "", one, request);
    sign_request(signer, one, kNow, request);
    webhook::SignedHeaders headers;
    for (std::size_t i = 0; i < request.headers.size(); ++i) {
      const std::string line = request.headers.line(i);
      const auto value = [&] { return line.substr(line.find(": ") + 2); };
      if (line.starts_with("webhook-id")) headers.id = value();
      if (line.starts_with("webhook-timestamp")) headers.timestamp = value();
      if (line.starts_with("webhook-signature")) headers.signature = value();
    }
    EXPECT_EQ(headers.id, one.front().message_id.to_string());
    EXPECT_EQ(webhook::verify(headers, request.body, keys, kNow), webhook::Verdict::valid);
  }
}

// A receiver drops a repeat by webhook-id, so the same batch sent again must have the same one.
TEST(HttpRequest, GivesABatchAnIdThatDependsOnItsMessagesOnly) {
  webhook::Signer signer({"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
  const auto id_of = [&](const std::vector<ClaimedMessage>& messages) {
    HttpRequest request;
    build_request(config(Format::cloudevents_batch), "", messages, request);
    const std::size_t before = request.headers.size();
    sign_request(signer, messages, std::chrono::sys_seconds{}, request);
    return std::string(request.headers.line(before));
  };
  ClaimedMessage other = message();
  other.message_id = *MessageId::parse("01900000-0000-7000-8000-000000000002");
  ClaimedMessage later = other;
  later.attempts = 9;
  EXPECT_EQ(id_of({message(), other}), id_of({message(), later}));
  EXPECT_NE(id_of({message(), other}), id_of({other, message()}));
  EXPECT_THAT(id_of({message(), other}), StartsWith("webhook-id: batch_"));
}

}  // namespace
}  // namespace pillarbox::http
