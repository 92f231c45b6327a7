// SPDX-License-Identifier: Apache-2.0
#include "sink/http/header_text.h"

#include <gtest/gtest.h>

namespace pillarbox::http {
namespace {

std::string encoded(std::string_view value) {
  std::string out;
  append_percent_encoded(out, value);
  return out;
}

TEST(HeaderText, EncodesAsTheCloudEventsStandardsExampleDoes) {
  EXPECT_EQ(encoded("Euro \xE2\x82\xAC \xF0\x9F\x98\x80"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
  EXPECT_EQ(encoded("a\"b%c\r\n"), "a%22b%25c%0D%0A");
  EXPECT_EQ(encoded("!~azAZ09-_.:/"), "!~azAZ09-_.:/");
}

TEST(HeaderText, EncodesNamesForAPath) {
  std::string out;
  append_path_segment(out, "Shop/1 \xC3\xA4.b~c");
  EXPECT_EQ(out, "Shop%2F1%20%C3%A4.b~c");
}

// A header value of a message is user data. None may end its line and begin another.
TEST(HeaderText, NoByteOfAValueCanEndTheLine) {
  for (int c = 0; c < 256; ++c) {
    HeaderLines lines;
    lines.add("x", std::string("a") + static_cast<char>(c) + "b");
    ASSERT_EQ(lines.size(), 1U);
    const std::string_view line = lines.line(0);
    for (const char out : line) EXPECT_TRUE(out >= 0x20 && out < 0x7F) << c;
    EXPECT_GE(line.size(), 6U) << c;
  }
}

TEST(HeaderText, KeepsCleanValuesAsTheyAre) {
  HeaderLines lines;
  lines.add("tenant", "Acme Inc, 100% \"sure\"");
  lines.add("empty", "");
  lines.add("spaced", " leading");
  lines.leave_out("Expect");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_STREQ(lines.line(0), "tenant: Acme Inc, 100% \"sure\"");
  EXPECT_STREQ(lines.line(1), "empty;");
  EXPECT_STREQ(lines.line(2), "spaced: %20leading");
  EXPECT_STREQ(lines.line(3), "Expect:");
  lines.clear();
  EXPECT_EQ(lines.size(), 0U);
}

TEST(HeaderText, ForwardsNoHeaderThatFramesRoutesOrProves) {
  for (const char* name : {"Host",
                           "host",
                           "Content-Length",
                           "Transfer-Encoding",
                           "Connection",
                           "Authorization",
                           "Cookie",
                           "Expect",
                           "TE",
                           "Trailer",
                           "Upgrade",
                           "Proxy-Authorization",
                           "Content-Type",
                           "User-Agent",
                           "webhook-id",
                           "Webhook-Signature",
                           "CE-id",
                           "ce-type",
                           "pillarbox-attempt",
                           "Idempotency-Key",
                           "",
                           "a b",
                           "a:b",
                           "a\r\nb",
                           "\xC3\xA4",
                           "a(b)"}) {
    EXPECT_FALSE(may_forward(name)) << name;
  }
  for (const char* name : {"traceparent", "tracestate", "tenant", "X-Request-Id", "certificate"}) {
    EXPECT_TRUE(may_forward(name)) << name;
  }
}

}  // namespace
}  // namespace pillarbox::http
