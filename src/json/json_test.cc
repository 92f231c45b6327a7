// SPDX-License-Identifier: Apache-2.0
#include "json/json.h"

#include <gtest/gtest.h>

#include "pillarbox/error.h"

namespace pillarbox::json {
namespace {

TEST(JsonCheck, TakesOneTextAndNumbersOfAnySize) {
  for (const std::string_view good :
       {"null", " {\"a\" : [1, 2.5e3, -0, true]} ", "\"\\u0000\"", "1e400",
        "9007199254740993123456789", "{\"a\":1,\"a\":2}", "[]"}) {
    EXPECT_TRUE(is_valid(good)) << good;
  }
  for (const std::string_view bad :
       {"", " ", "{", "nul", "01", "1.", "'a'", "{\"a\":1,}", "[1] 2", "\"\x01\"", "NaN",
        "\"\xff\"", "\"\\ud800\"", "{a:1}", "//x\n1"}) {
    EXPECT_FALSE(is_valid(bad)) << bad;
  }
}

TEST(JsonCheck, BoundsTheDepth) {
  EXPECT_TRUE(is_valid(std::string(kDepthMax, '[') + std::string(kDepthMax, ']')));
  EXPECT_FALSE(is_valid(std::string(100'000, '[')));
}

TEST(HeadersText, AreAnObjectOfStrings) {
  const auto headers = parse_headers(R"({"traceparent":"00-a","ü":"😀 \" \\ \n"})");
  ASSERT_TRUE(headers);
  ASSERT_EQ(headers->size(), 2U);
  EXPECT_EQ((*headers)[1].second, "😀 \" \\ \n");
  EXPECT_EQ(parse_headers(write_headers(*headers)), headers);
  EXPECT_EQ(parse_headers("{}"), Headers{});
  for (const std::string_view bad :
       {"", "null", "[]", "\"a\"", "{\"a\":1}", "{\"a\":null}", "{\"a\":{}}", "{\"a\":[]}",
        "{\"a\":\"1\",\"a\":\"2\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"b\"}x", "1"}) {
    EXPECT_FALSE(parse_headers(bad)) << bad;
  }
}

TEST(JsonString, EscapesControlsAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(quoted("a\"b\\\n\x01\x7f€"), "\"a\\\"b\\\\\\n\\u0001\\u007f€\"");
  EXPECT_EQ(quoted("x\xff€"), "\"x\xEF\xBF\xBD€\"");
  EXPECT_TRUE(is_valid(quoted("\xff\xc0\xe2\x82")));
}

TEST(SecretKeys, AreFoundByPatternAtAnyDepth) {
  const auto found =
      find_keys(R"({"id":1,"card":[{"Access_Token":"x"}],"password":"y"})", secret_key_patterns());
  EXPECT_EQ(found, (std::vector<std::string>{"card.Access_Token", "password"}));
  EXPECT_TRUE(find_keys("not json", secret_key_patterns()).empty());
}

TEST(JsonWriter, NestsAndSeparates) {
  Writer writer;
  writer.begin_object()
      .field("a", std::int64_t{1})
      .key("b")
      .begin_array()
      .string("x")
      .null()
      .boolean(true)
      .end_array();
  writer.key("c").begin_object().end_object().key("r").real(0.5).end_object();
  EXPECT_EQ(writer.text(), R"({"a":1,"b":["x",null,true],"c":{},"r":0.5})");
}

std::string refusal(const NewMessage& message) {
  try {
    validate(message);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
    return std::string(error.code());
  }
  return "accepted";
}

TEST(Validation, NamesWhatIsWrong) {
  EXPECT_EQ(refusal({.job_type = "a.v1"}), "accepted");
  EXPECT_EQ(refusal({.job_type = ""}), "PBX-1001");
  EXPECT_EQ(refusal({.job_type = "\xff"}), "PBX-1002");
  EXPECT_EQ(refusal({.job_type = std::string(201, 'x')}), "PBX-1003");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "€";
  EXPECT_EQ(refusal({.job_type = wide}), "accepted");
  EXPECT_EQ(refusal({.job_type = std::string("a\0b", 3)}), "PBX-1004");
  EXPECT_EQ(refusal({.job_type = "a", .headers = {{"", "x"}}}), "PBX-1005");
  EXPECT_EQ(refusal({.job_type = "a", .headers = {{"x", "1"}, {"x", "2"}}}), "PBX-1005");
  EXPECT_EQ(refusal({.job_type = "a", .headers = {{"x", std::string("1\0", 2)}}}), "PBX-1004");
  EXPECT_EQ(refusal({.job_type = "a", .headers = {{"x", std::string(32'760, 'y')}}}), "PBX-1006");
  EXPECT_EQ(refusal({.job_type = "a", .payload = std::string(Limits::kPayloadBytes + 1, '1')}),
            "PBX-1007");
  EXPECT_EQ(refusal({.job_type = "a", .delay = Millis(-1)}), "PBX-1008");
  EXPECT_EQ(refusal({.job_type = "a", .payload = "{"}), "PBX-1009");
  EXPECT_EQ(refusal({.job_type = "a", .payload = "\"\xff\""}), "PBX-1002");
  EXPECT_EQ(refusal({.job_type = "a", .payload = "{", .content_type = "application/octet-stream"}),
            "accepted");
  EXPECT_EQ(
      refusal({.job_type = "a", .payload = "{", .content_type = "application/vnd.x+json; v=1"}),
      "PBX-1009");
}

}  // namespace
}  // namespace pillarbox::json
