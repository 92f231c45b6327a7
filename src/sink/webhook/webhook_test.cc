// SPDX-License-Identifier: Apache-2.0
#include "pillarbox/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pillarbox/error.h"

namespace pillarbox::webhook {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kOther = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const std::string kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr sys_seconds kAt{seconds{1614265330}};
const std::string kBody = R"({"test": 2432232314})";
const std::string kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

// RFC 8032, section 7.1, test 1: the seed and its public key.
const std::string kPrivate = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const std::string kPublic = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

TEST(Webhook, MakesTheSignatureOfTheStandardsTestVector) {
  const SignedHeaders headers = sign(kId, kAt, kBody, {kSecret});
  EXPECT_EQ(headers.id, kId);
  EXPECT_EQ(headers.timestamp, "1614265330");
  EXPECT_EQ(headers.signature, kSignature);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::valid);
}

TEST(Webhook, ReadsKeysWithoutPrefixWithoutPaddingAndWithALineFeed) {
  EXPECT_EQ(sign(kId, kAt, kBody, {kSecret.substr(6)}).signature, kSignature);
  EXPECT_EQ(sign(kId, kAt, kBody, {kSecret + "\n"}).signature, kSignature);
  const std::string padded = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA==";
  EXPECT_EQ(sign(kId, kAt, kBody, {padded}).signature,
            sign(kId, kAt, kBody, {padded.substr(0, padded.size() - 2)}).signature);
}

TEST(Webhook, SignsWithEachKeySoThatEitherVerifiesDuringARotation) {
  const SignedHeaders headers = sign(kId, kAt, kBody, {kOther, kSecret, kPrivate});
  EXPECT_THAT(headers.signature, testing::HasSubstr(" " + kSignature + " v1a,"));
  for (const std::string& key : {kOther, kSecret, kPublic}) {
    EXPECT_EQ(verify(headers, kBody, {key}, kAt), Verdict::valid) << key.substr(0, 6);
  }
}

TEST(Webhook, SignsWithEd25519AndVerifiesWithThePublicKey) {
  const SignedHeaders headers = sign(kId, kAt, kBody, {kPrivate});
  EXPECT_TRUE(headers.signature.starts_with("v1a,"));
  EXPECT_EQ(verify(headers, kBody, {kPublic}, kAt), Verdict::valid);
  EXPECT_EQ(verify(headers, kBody + " ", {kPublic}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::bad_signature);
}

TEST(Webhook, TakesTheLongFormOfAnEd25519PrivateKey) {
  const std::string both =
      "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/"
      "tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";
  EXPECT_EQ(sign(kId, kAt, kBody, {both}).signature, sign(kId, kAt, kBody, {kPrivate}).signature);
}

TEST(Webhook, RefusesAChangedBodyIdTimestampOrSignature) {
  const SignedHeaders good = sign(kId, kAt, kBody, {kSecret});
  SignedHeaders changed = good;
  changed.id = "msg_other";
  EXPECT_EQ(verify(changed, kBody, {kSecret}, kAt), Verdict::bad_signature);
  changed = good;
  changed.timestamp = "1614265331";
  EXPECT_EQ(verify(changed, kBody, {kSecret}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, R"({"test":2432232314})", {kSecret}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, kBody, {kOther}, kAt), Verdict::bad_signature);
  EXPECT_EQ(verify(good, kBody, {}, kAt), Verdict::bad_signature);
  for (std::size_t i = 3; i + 1 < good.signature.size(); ++i) {
    changed = good;
    changed.signature[i] = changed.signature[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(verify(changed, kBody, {kSecret}, kAt), Verdict::valid) << i;
  }
}

// A short signature that is the beginning of the right one must not pass.
TEST(Webhook, RefusesATruncatedOrLengthenedSignature) {
  SignedHeaders headers = sign(kId, kAt, kBody, {kSecret});
  headers.signature = headers.signature.substr(0, 7);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::bad_signature);
  headers.signature = kSignature;
  headers.signature.back() = 'A';  // the padding becomes a 33rd byte
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::bad_signature);
  headers.signature = "v1,";
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::bad_signature);
}

TEST(Webhook, AllowsFiveMinutesOfClockDifferenceAndNoMore) {
  const SignedHeaders headers = sign(kId, kAt, kBody, {kSecret});
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt + seconds{300}), Verdict::valid);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt + seconds{301}), Verdict::too_old);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt - seconds{300}), Verdict::valid);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt - seconds{301}), Verdict::too_new);
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt + seconds{2}, seconds{1}), Verdict::too_old);
}

TEST(Webhook, CallsHeadersMalformedThatCannotBeRead) {
  const SignedHeaders good = sign(kId, kAt, kBody, {kSecret});
  for (const char* timestamp :
       {"", "-1614265330", " 1614265330", "1614265330 ", "1.6e9", "99999999999999999999", "abc"}) {
    SignedHeaders headers = good;
    headers.timestamp = timestamp;
    EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::malformed) << timestamp;
  }
  for (const char* signature : {"", "v1", "v2,abc", ",", "v1,!!!!", "   "}) {
    SignedHeaders headers = good;
    headers.signature = signature;
    EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::malformed) << signature;
  }
  SignedHeaders headers = good;
  headers.id = "";
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::malformed);
  headers.id = "msg.1";
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::malformed);
}

TEST(Webhook, FindsTheRightSignatureAmongUnknownOnes) {
  SignedHeaders headers = sign(kId, kAt, kBody, {kSecret});
  headers.signature = "v2,Zm9v nonsense " + kSignature + " v1,Zm9v";
  EXPECT_EQ(verify(headers, kBody, {kSecret}, kAt), Verdict::valid);
}

TEST(Webhook, SignsEveryByteOfTheBody) {
  std::string body;
  for (int c = 0; c < 256; ++c) body += static_cast<char>(c);
  const SignedHeaders headers = sign(kId, kAt, body, {kSecret});
  EXPECT_EQ(verify(headers, body, {kSecret}, kAt), Verdict::valid);
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::string changed = body;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(verify(headers, changed, {kSecret}, kAt), Verdict::bad_signature) << i;
  }
  const SignedHeaders empty = sign(kId, kAt, "", {kSecret});
  EXPECT_EQ(verify(empty, "", {kSecret}, kAt), Verdict::valid);
}

// A key in an error text ends in logs.
TEST(Webhook, RefusesKeysThatCannotBeUsedWithoutShowingThem) {
  for (const std::string& key :
       {std::string(""), std::string("whsec_"), std::string("whsec_not*base64"),
        std::string("whsec_A"), std::string("whsk_AAAA"), kPublic}) {
    try {
      (void)sign(kId, kAt, kBody, {key});
      ADD_FAILURE() << "taken: " << key;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PBX-5001");
      EXPECT_EQ(e.kind(), ErrorKind::invalid_input);
      if (key.size() > 6) {
        EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr(key.substr(6))));
      }
    }
  }
  EXPECT_THROW((void)sign(kId, kAt, kBody, {}), Error);
  EXPECT_THROW((void)verify(sign(kId, kAt, kBody, {kSecret}), kBody, {"whpk_AAAA"}, kAt), Error);
}

}  // namespace
}  // namespace pillarbox::webhook
