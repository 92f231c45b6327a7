// SPDX-License-Identifier: Apache-2.0
// Pitfall DB5: what the producer wrote comes out byte for byte, in every store the same.
#include <random>

#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

const std::string kEmoji = "\xF0\x9F\x93\xAE";  // U+1F4EE, four bytes

NewMessage of_bytes(std::string payload) {
  NewMessage message;
  message.job_type = "blob.v1";
  message.content_type = "application/octet-stream";
  message.payload = std::move(payload);
  return message;
}

NewMessage of_json(std::string payload) {
  NewMessage message;
  message.job_type = "json.v1";
  message.payload = std::move(payload);
  return message;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

TEST_P(StorePayload, MayBeEmpty) {
  const ClaimedMessage got = claimed(of_bytes(""));
  EXPECT_EQ(got.payload, "");
  EXPECT_EQ(got.content_type, "application/octet-stream");
}

TEST_P(StorePayload, MayBeOneZeroByte) {
  EXPECT_EQ(claimed(of_bytes(std::string(1, '\0'))).payload, std::string(1, '\0'));
}

TEST_P(StorePayload, MayBeAll256Bytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(claimed(of_bytes(all)).payload, all);
}

TEST_P(StorePayload, MayBeInvalidUtf8) {
  const std::string bytes = "\xC3(\xFF\xED\xA0\x80";
  EXPECT_EQ(claimed(of_bytes(bytes)).payload, bytes);
}

TEST_P(StorePayload, MayBeAMebibyteOfNoise) {
  std::mt19937 noise(20'261'201);
  std::string bytes;
  bytes.reserve(1 << 20);
  while (bytes.size() < (1U << 20U)) bytes += static_cast<char>(noise() & 0xFFU);
  EXPECT_TRUE(claimed(of_bytes(bytes)).payload == bytes);
}

TEST_P(StorePayload, MayBeAsLargeAsTheLimit) {
  const std::string bytes(Limits::kPayloadBytes, 'x');
  EXPECT_TRUE(claimed(of_bytes(bytes)).payload == bytes);
}

// JSON is checked and never re-serialised: spacing, order and repeated keys stay.
TEST_P(StorePayload, KeepsTheSpacingOfJson) {
  const std::string text = " { \"b\" :\t1,\n \"a\":[ 1 , 2.50 ] }\r\n";
  EXPECT_EQ(claimed(of_json(text)).payload, text);
}

TEST_P(StorePayload, KeepsDuplicateKeysOfJson) {
  const std::string text = R"({"a":1,"a":2})";
  EXPECT_EQ(claimed(of_json(text)).payload, text);
}

TEST_P(StorePayload, KeepsNumbersThatNoDoubleHolds) {
  const std::string text = R"([1e400,9007199254740993,-0,0.10000000000000000000001])";
  EXPECT_EQ(claimed(of_json(text)).payload, text);
}

TEST_P(StorePayload, KeepsAnEscapedNulOfJson) {
  const std::string text = R"({"a":"x\u0000y"})";
  EXPECT_EQ(claimed(of_json(text)).payload, text);
}

TEST_P(StorePayload, KeepsEscapesAsTheyWereWritten) {
  const std::string text = R"(["\u00e9","\ud83d\udcee","\/","é"])";
  EXPECT_EQ(claimed(of_json(text)).payload, text);
}

// No reader turns a lone surrogate into a character: as JSON it is refused, as bytes it travels.
TEST_P(StorePayload, KeepsALoneSurrogateAsBytesOnly) {
  const std::string text = R"({"a":"\ud800"})";
  EXPECT_EQ(error_of([&] { admin().enqueue(of_json(text)); }).code(), "PBX-1009");
  EXPECT_EQ(claimed(of_bytes(text)).payload, text);
}

// A JSON suffix and parameters of the media type are JSON too.
TEST_P(StorePayload, KeepsItsContentTypeAsGiven) {
  NewMessage sent = of_json("{}");
  sent.content_type = "application/vnd.acme.order+json; charset=utf-8";
  EXPECT_EQ(claimed(sent).content_type, sent.content_type);
}

// What travels beside the payload is text, in any script, and comes back as it was.
TEST_P(StorePayload, KeepsFourByteCharactersBesideIt) {
  NewMessage sent = of_json("\"" + kEmoji + "\"");
  sent.job_type = "post." + kEmoji + ".v1";
  sent.headers = {{"stamp-" + kEmoji, kEmoji + " \"quoted\" \\ back"}, {"empty", ""}};
  sent.correlation_id = kEmoji;
  sent.ordering_key = "key-" + kEmoji;
  enqueue(sent);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.headers, sent.headers);
  EXPECT_EQ(got.correlation_id, sent.correlation_id);
  EXPECT_EQ(got.ordering_key, sent.ordering_key);
}

// Limits are in characters, whatever their bytes.
TEST_P(StorePayload, CountsLimitsInCharacters) {
  NewMessage sent = of_json("1");
  sent.job_type = repeated(kEmoji, Limits::kJobTypeChars);
  sent.correlation_id = repeated(kEmoji, Limits::kCorrelationIdChars);
  sent.ordering_key = repeated(kEmoji, Limits::kOrderingKeyChars);
  enqueue(sent);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.correlation_id, sent.correlation_id);
  EXPECT_EQ(got.ordering_key, sent.ordering_key);
}

TEST_P(StorePayload, KeepsControlCharactersInHeaderValues) {
  NewMessage sent = of_json("1");
  sent.headers = {{"note", "line one\nline two\ttab \x01 \x7F"}};
  EXPECT_EQ(claimed(sent).headers, sent.headers);
}

TEST_P(StorePayload, KeepsTheOrderOfHeaders) {
  NewMessage sent = of_json("1");
  sent.headers = {{"zebra", "1"}, {"Alpha", "2"}, {"alpha", "3"}, {"mid", "4"}};
  EXPECT_EQ(claimed(sent).headers, sent.headers);
}

// Quotes, patterns and comments of SQL are text like any other.
TEST_P(StorePayload, TakesTheSignsOfSqlAsText) {
  NewMessage sent = of_json(R"("'; drop table outbox; --")");
  sent.job_type = "it's.\"quoted\".v1";
  sent.correlation_id = "%_\\'";
  sent.ordering_key = "$1 :id ?";
  enqueue(sent);
  const ClaimedMessage got = claim_one();
  EXPECT_EQ(got.job_type, sent.job_type);
  EXPECT_EQ(got.correlation_id, sent.correlation_id);
  EXPECT_EQ(got.ordering_key, sent.ordering_key);
  EXPECT_EQ(got.payload, sent.payload);
}

// The signature of a webhook covers the bytes: attempt five has those of attempt one.
TEST_P(StorePayload, IsTheSameInEveryAttempt) {
  NewMessage sent = of_json(R"({ "b":1e400, "a":"\u0000" })");
  ClaimedMessage got = claimed(sent);
  for (int attempt = 1; attempt < 5; ++attempt) {
    EXPECT_EQ(got.payload, sent.payload);
    EXPECT_TRUE(settle(retry(got.lease)));
    got = claim_one();
  }
  EXPECT_EQ(got.payload, sent.payload);
}

}  // namespace pillarbox::testing
