// SPDX-License-Identifier: Apache-2.0
// Guarantee 14: bad input is refused early and clearly, and the caller's transaction goes on.
#include "tests/conformance/store_suites.h"

namespace pillarbox::testing {
namespace {

const std::string kNul(1, '\0');

// Refused through the operator's door with the code that the docs list, and through the producer's
// own, where what came before and after in the same transaction is kept.
template <class Fixture>
void expect_refused(StoreFixture& outbox, StoreAdmin& admin, Fixture claim_all,
                    const NewMessage& bad, std::string_view code) {
  const Error error = error_of([&] { admin.enqueue(bad); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_input) << error.what();
  EXPECT_EQ(error.code(), code) << error.what();

  const auto producer = outbox.producer();
  NewMessage good;
  good.job_type = "good.v1";
  producer->begin();
  producer->enqueue(good);
  producer->savepoint("before");
  EXPECT_EQ(error_of([&] { producer->enqueue(bad); }).kind(), ErrorKind::invalid_input);
  producer->rollback_to("before");
  producer->enqueue(good);
  producer->commit();
  const std::vector<ClaimedMessage> kept = claim_all();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].job_type, "good.v1");
  EXPECT_EQ(kept[1].job_type, "good.v1");
}

}  // namespace

#define PILLARBOX_EXPECT_REFUSED(bad, code) \
  expect_refused(                           \
      outbox(), admin(), [this] { return claim_all(); }, bad, code)

TEST_P(StoreRefusal, OfAMessageWithoutAJobType) {
  PILLARBOX_EXPECT_REFUSED(message(""), "PBX-1001");
}

TEST_P(StoreRefusal, OfAJobTypeThatIsTooLong) {
  PILLARBOX_EXPECT_REFUSED(message(std::string(Limits::kJobTypeChars + 1, 'x')), "PBX-1003");
}

TEST_P(StoreRefusal, OfANulInTheJobType) {
  PILLARBOX_EXPECT_REFUSED(message("a" + kNul + "b"), "PBX-1004");
}

TEST_P(StoreRefusal, OfAControlCharacterInTheJobType) {
  PILLARBOX_EXPECT_REFUSED(message("a\nb"), "PBX-1004");
}

TEST_P(StoreRefusal, OfAJobTypeThatIsNotUtf8) {
  PILLARBOX_EXPECT_REFUSED(message("caf\xE9.v1"), "PBX-1002");
}

TEST_P(StoreRefusal, OfAnOrderingKeyThatIsTooLong) {
  PILLARBOX_EXPECT_REFUSED(message("a.v1", std::string(Limits::kOrderingKeyChars + 1, 'x')),
                           "PBX-1003");
}

TEST_P(StoreRefusal, OfANulInTheOrderingKey) {
  PILLARBOX_EXPECT_REFUSED(message("a.v1", "k" + kNul), "PBX-1004");
}

TEST_P(StoreRefusal, OfAnOrderingKeyThatIsNotUtf8) {
  PILLARBOX_EXPECT_REFUSED(message("a.v1", "\xC3("), "PBX-1002");
}

TEST_P(StoreRefusal, OfACorrelationIdThatIsTooLong) {
  NewMessage bad = message();
  bad.correlation_id = std::string(Limits::kCorrelationIdChars + 1, 'x');
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1003");
}

TEST_P(StoreRefusal, OfANulInTheCorrelationId) {
  NewMessage bad = message();
  bad.correlation_id = kNul;
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1004");
}

TEST_P(StoreRefusal, OfACorrelationIdThatIsNotUtf8) {
  NewMessage bad = message();
  bad.correlation_id = "\xED\xA0\x80";  // a surrogate
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1002");
}

TEST_P(StoreRefusal, OfAContentTypeThatIsTooLong) {
  NewMessage bad = message();
  bad.content_type = "text/" + std::string(Limits::kContentTypeChars, 'x');
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1003");
}

TEST_P(StoreRefusal, OfAnEmptyContentType) {
  NewMessage bad = message();
  bad.content_type = "";
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1001");
}

TEST_P(StoreRefusal, OfANulInAHeader) {
  NewMessage bad = message();
  bad.headers = {{"traceparent", "00-" + kNul}};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1004");
}

TEST_P(StoreRefusal, OfAHeaderThatIsNotUtf8) {
  NewMessage bad = message();
  bad.headers = {{"traceparent", "\xFF"}};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1002");
}

TEST_P(StoreRefusal, OfAHeaderWithoutAName) {
  NewMessage bad = message();
  bad.headers = {{"", "value"}};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1005");
}

TEST_P(StoreRefusal, OfAHeaderGivenTwice) {
  NewMessage bad = message();
  bad.headers = {{"tenant", "a"}, {"tenant", "b"}};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1005");
}

TEST_P(StoreRefusal, OfHeadersThatAreTooLargeTogether) {
  NewMessage bad = message();
  bad.headers = {{"a", std::string(20'000, 'x')}, {"b", std::string(20'000, 'x')}};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1006");
}

TEST_P(StoreRefusal, OfAPayloadThatIsNotJsonThoughItSaysSo) {
  NewMessage bad = message();
  bad.payload = "{'order': 17}";
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1009");
}

TEST_P(StoreRefusal, OfAnEmptyPayloadThatIsNoJson) {
  NewMessage bad = message();
  bad.payload = "";
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1009");
}

TEST_P(StoreRefusal, OfAPayloadThatIsNotJsonThoughItsSuffixSaysSo) {
  NewMessage bad = message();
  bad.content_type = "application/cloudevents+json";
  bad.payload = "{} {}";
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1009");
}

TEST_P(StoreRefusal, OfJsonThatIsNotUtf8) {
  NewMessage bad = message();
  bad.payload = "\"\xFF\"";
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1002");
}

TEST_P(StoreRefusal, OfAPayloadThatIsTooLarge) {
  NewMessage bad = message();
  bad.content_type = "application/octet-stream";
  bad.payload = std::string(Limits::kPayloadBytes + 1, 'x');
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1007");
}

TEST_P(StoreRefusal, OfADelayIntoThePast) {
  NewMessage bad = message();
  bad.delay = Millis{-1};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1008");
}

TEST_P(StoreRefusal, OfADelayBeyondAllReason) {
  NewMessage bad = message();
  bad.delay = Limits::kDelayMax + Millis{1};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1008");
}

TEST_P(StoreRefusal, OfAnExpiryThatHasPassed) {
  NewMessage bad = message();
  bad.expires_in = Millis{0};
  PILLARBOX_EXPECT_REFUSED(bad, "PBX-1008");
}

// The text is for an operator: it names the field and both sizes, and shows no payload.
TEST_P(StoreRefusal, NamesTheFieldAndTheLimitAndNoPayload) {
  NewMessage bad = message();
  bad.correlation_id = std::string(70, 'x');
  bad.payload = R"({"password":"hunter2"})";
  const std::string what = error_of([&] { admin().enqueue(bad); }).what();
  EXPECT_NE(what.find("correlation_id"), std::string::npos) << what;
  EXPECT_NE(what.find("70"), std::string::npos) << what;
  EXPECT_NE(what.find("64"), std::string::npos) << what;
  EXPECT_EQ(what.find("hunter2"), std::string::npos) << what;
}

}  // namespace pillarbox::testing
