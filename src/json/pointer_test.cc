// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "json/json.h"

namespace pillarbox::json {
namespace {

std::string at(std::string_view text, std::string_view pointer) {
  const auto found = find(text, pointer);
  return found ? std::string(*found) : "none";
}

// RFC 6901, section 5: its own example.
TEST(JsonPointer, FindsWhatTheStandardsExampleSays) {
  const std::string text =
      R"({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,)"
      R"( "k\"l": 6, " ": 7, "m~n": 8})";
  EXPECT_EQ(at(text, ""), text);
  EXPECT_EQ(at(text, "/foo"), R"(["bar", "baz"])");
  EXPECT_EQ(at(text, "/foo/0"), R"("bar")");
  EXPECT_EQ(at(text, "/"), "0");
  EXPECT_EQ(at(text, "/a~1b"), "1");
  EXPECT_EQ(at(text, "/c%d"), "2");
  EXPECT_EQ(at(text, "/e^f"), "3");
  EXPECT_EQ(at(text, "/g|h"), "4");
  EXPECT_EQ(at(text, "/i\\j"), "5");
  EXPECT_EQ(at(text, "/k\"l"), "6");
  EXPECT_EQ(at(text, "/ "), "7");
  EXPECT_EQ(at(text, "/m~0n"), "8");
}

TEST(JsonPointer, GivesValuesAsTheyAreWritten) {
  const std::string_view text =
      R"( { "n" : 1.230e+400 , "deep":{"list":[ [1,2] , {"x":"]}\"" } ]}, "t":true,"z":null } )";
  EXPECT_EQ(at(text, "/n"), "1.230e+400");
  EXPECT_EQ(at(text, "/deep/list/0/1"), "2");
  EXPECT_EQ(at(text, "/deep/list/1/x"), R"("]}\"")");
  EXPECT_EQ(at(text, "/deep/list/1"), R"({"x":"]}\"" })");
  EXPECT_EQ(at(text, "/t"), "true");
  EXPECT_EQ(at(text, "/z"), "null");
  EXPECT_EQ(at("42", ""), "42");
  EXPECT_EQ(at("[]", ""), "[]");
  EXPECT_EQ(at(R"({"a":1,"a":2})", "/a"), "2");
  EXPECT_EQ(at(R"({"\u00e9\u0000":1})", std::string_view("/\xC3\xA9\0", 4)), "1");
}

TEST(JsonPointer, FindsNothingWhereThereIsNothing) {
  for (const char* pointer : {"/b", "/a/b", "/l/2", "/l/01", "/l/-", "/l/1/0", "/l/99999999999"})
    EXPECT_EQ(at(R"({"a":"text","l":[1,2]})", pointer), "none") << pointer;
  EXPECT_EQ(at("{}", "/a"), "none");
  EXPECT_EQ(at("[]", "/0"), "none");
  EXPECT_EQ(at("{", ""), "none");
  EXPECT_EQ(at("", ""), "none");
}

TEST(JsonPointer, KnowsAPointer) {
  for (const char* good : {"", "/", "/a", "/a/0", "/a~0~1"}) EXPECT_TRUE(is_pointer(good)) << good;
  for (const char* bad : {"a", "/a~", "/~2", "#/a"}) EXPECT_FALSE(is_pointer(bad)) << bad;
}

TEST(JsonPointer, ReadsAndWritesText) {
  EXPECT_EQ(unquoted(R"("plain")"), "plain");
  EXPECT_EQ(unquoted(R"("a\"\\\n\ud83d\ude00")"), "a\"\\\n\xF0\x9F\x98\x80");
  EXPECT_EQ(as_ascii("\"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\""),
            "\"a\\u00e9\\u20ac\\ud83d\\ude00z\"");
}

}  // namespace
}  // namespace pillarbox::json
