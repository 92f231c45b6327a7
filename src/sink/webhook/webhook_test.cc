// SPDX-License-Identifier: Apache-2.0
#include "pillarbox/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pillarbox/error.h"

namespace pillarbox::webhook {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

const std::string secret_key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string other_key = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const std::string msg_id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr sys_seconds kAt{seconds{1614265330}};
const std::string body_text = R"({"test": 2432232314})";
const std::string right_signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

// RFC 8032, section 7.1, test 1: the seed and its public key.
const std::string private_key = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const std::string public_key = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

TEST(Webhook, MakesTheSignatureOfTheStandardsTestVector) {
  const SignedHeaders headers = sign(msg_id, kAt, body_text, {secret_key});
  EXPECT_EQ(headers.id, msg_id);
  EXPECT_EQ(headers.timestamp, "1614265330");
  EXPECT_EQ(headers.signature, right_signature);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::valid);
}

TEST(Webhook, ReadsKeysWithoutPrefixWithoutPaddingAndWithALineFeed) {
  EXPECT_EQ(sign(msg_id, kAt, body_text, {secret_key.substr(6)}).signature, right_signature);
  EXPECT_EQ(sign(msg_id, kAt, body_text, {secret_key + "\n"}).signature, right_signature);
  const std::string padded = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA==";
  EXPECT_EQ(sign(msg_id, kAt, body_text, {padded}).signature,
            sign(msg_id, kAt, body_text, {padded.substr(0, padded.size() - 2)}).signature);
}

TEST(Webhook, SignsWithEachKeySoThatEitherVerifiesDuringARotation) {
  const SignedHeaders headers = sign(msg_id, kAt, body_text, {other_key, secret_key, private_key});
  EXPECT_THAT(headers.signature, testing::HasSubstr(" " + right_signature + " v1a,"));
  for (const std::string& key : {other_key, secret_key, public_key}) {
    EXPECT_EQ(verify(headers, body_text, {key}, kAt), Verdict::valid) << key.substr(0, 6);
  }
}

TEST(Webhook, SignsWithEd25519AndVerifiesWithThePublicKey) {
  const SignedHeaders headers = sign(msg_id, kAt, body_text, {private_key});
  EXPECT_TRUE(headers.signature.starts_with("v1a,"));
  EXPECT_EQ(verify(headers, body_text, {public_key}, kAt), Verdict::valid);
  EXPECT_EQ(verify(headers, body_text + " ", {public_key}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::bad_signature);
}

TEST(Webhook, TakesTheLongFormOfAnEd25519PrivateKey) {
  const std::string both =
      "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/"
      "tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";
  EXPECT_EQ(sign(msg_id, kAt, body_text, {both}).signature,
            sign(msg_id, kAt, body_text, {private_key}).signature);
}

TEST(Webhook, RefusesAChangedBodyIdTimestampOrSignature) {
  const SignedHeaders good = sign(msg_id, kAt, body_text, {secret_key});
  SignedHeaders changed = good;
  changed.id = "msg_other";
  EXPECT_EQ(verify(changed, body_text, {secret_key}, kAt), Verdict::bad_signature);
  changed = good;
  changed.timestamp = "1614265331";
  EXPECT_EQ(verify(changed, body_text, {secret_key}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, R"({"test":2432232314})", {secret_key}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, body_text, {other_key}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, body_text, {}, kAt), Verdict::bad_signature);
  for (std::size_t i = 3; i + 1 < good.signature.size(); ++i) {
    changed = good;
    changed.signature[i] = changed.signature[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(verify(changed, body_text, {secret_key}, kAt), Verdict::valid) << i;
  }
}

// A short signature that is the beginning of the right one must not pass.
TEST(Webhook, RefusesATruncatedOrLengthenedSignature) {
  SignedHeaders headers = sign(msg_id, kAt, body_text, {secret_key});
  headers.signature = headers.signature.substr(0, 7);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::bad_signature);
  headers.signature = right_signature;
  headers.signature.back() = 'A';  // the padding becomes a 33rd byte
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::bad_signature);
  headers.signature = "v1,";
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::bad_signature);
}

TEST(Webhook, AllowsFiveMinutesOfClockDifferenceAndNoMore) {
  const SignedHeaders headers = sign(msg_id, kAt, body_text, {secret_key});
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt + seconds{300}), Verdict::valid);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt + seconds{301}), Verdict::too_old);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt - seconds{300}), Verdict::valid);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt - seconds{301}), Verdict::too_new);
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt + seconds{2}, seconds{1}),
            Verdict::too_old);
}

TEST(Webhook, CallsHeadersMalformedThatCannotBeRead) {
  const SignedHeaders good = sign(msg_id, kAt, body_text, {secret_key});
  for (const char* timestamp :
       {"", "-1614265330", " 1614265330", "1614265330 ", "1.6e9", "99999999999999999999", "abc"}) {
    SignedHeaders headers = good;
    headers.timestamp = timestamp;
    EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::malformed) << timestamp;
  }
  for (const char* signature : {"", "v1", "v2,abc", ",", "v1,!!!!", "   "}) {
    SignedHeaders headers = good;
    headers.signature = signature;
    EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::malformed) << signature;
  }
  SignedHeaders headers = good;
  headers.id = "";
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::malformed);
  headers.id = "msg.1";
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::malformed);
}

TEST(Webhook, FindsTheRightSignatureAmongUnknownOnes) {
  SignedHeaders headers = sign(msg_id, kAt, body_text, {secret_key});
  headers.signature = "v2,Zm9v nonsense " + right_signature + " v1,Zm9v";
  EXPECT_EQ(verify(headers, body_text, {secret_key}, kAt), Verdict::valid);
}

TEST(Webhook, SignsEveryByteOfTheBody) {
  std::string body;
  for (int c = 0; c < 256; ++c) body += static_cast<char>(c);
  const SignedHeaders headers = sign(msg_id, kAt, body, {secret_key});
  EXPECT_EQ(verify(headers, body, {secret_key}, kAt), Verdict::valid);
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::string changed = body;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(verify(headers, changed, {secret_key}, kAt), Verdict::bad_signature) << i;
  }
  const SignedHeaders empty = sign(msg_id, kAt, "", {secret_key});
  EXPECT_EQ(verify(empty, "", {secret_key}, kAt), Verdict::valid);
}

// A key in an error text ends in logs.
TEST(Webhook, RefusesKeysThatCannotBeUsedWithoutShowingThem) {
  for (const std::string& key :
       {std::string(""), std::string("whsec_"), std::string("whsec_not*base64"),
        std::string("whsec_A"), std::string("whsk_AAAA"), public_key}) {
    try {
      (void)sign(msg_id, kAt, body_text, {key});
      ADD_FAILURE() << "taken: " << key;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PBX-5001");
      EXPECT_EQ(e.kind(), ErrorKind::invalid_input);
      if (key.size() > 6) {
        EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr(key.substr(6))));
      }
    }
  }
  EXPECT_THROW((void)sign(msg_id, kAt, body_text, {}), Error);
  EXPECT_THROW(
      (void)verify(sign(msg_id, kAt, body_text, {secret_key}), body_text, {"whpk_AAAA"}, kAt),
      Error);
}

}  // namespace
}  // namespace pillarbox::webhook
