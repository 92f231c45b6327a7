// SPDX-License-Identifier: Apache-2.0
#include "sink/wire_text.h"

#include <gtest/gtest.h>

namespace pillarbox::sink {
namespace {

std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(WireText, WritesBase64OfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE\xFD"), "//79");
}

TEST(WireText, TellsTextTypes) {
  EXPECT_TRUE(is_text_type("application/json"));
  EXPECT_TRUE(is_text_type("text/plain"));
  EXPECT_TRUE(is_text_type("Application/XML ; charset=utf-8"));
  EXPECT_TRUE(is_text_type("image/svg+xml"));
  EXPECT_FALSE(is_text_type("application/octet-stream"));
  EXPECT_FALSE(is_text_type(""));
}

// What a server answers ends in a terminal and in a text column: no escape sequences, no bytes that
// a database refuses.
TEST(WireText, CleansForeignTextForPeople) {
  const auto clean = [](std::string_view text, std::size_t max) {
    std::string out = "> ";
    append_printable(out, text, max);
    return out;
  };
  EXPECT_EQ(clean("a\r\n\tb\x1b[31mc", 99), "> a b [31mc");
  EXPECT_EQ(clean("\xE2\x82\xAC\xC2\x85z", 99), "> \xE2\x82\xAC z");
  EXPECT_EQ(clean("a\xFFz", 99), "> a?z");
  EXPECT_EQ(clean("\xE2\x82\xAC\xE2\x82\xAC", 7), "> \xE2\x82\xAC");
  EXPECT_EQ(clean("\xE2\x82\xAC\xE2\x82", 99), "> ?????");
  EXPECT_EQ(clean(std::string_view("a\0b", 3), 99), "> a b");
  EXPECT_EQ(clean("abc", 1), "> ");
}

}  // namespace
}  // namespace pillarbox::sink
