// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/error_group.h"
#include "core/random.h"
#include "core/suggest.h"
#include "core/type_pattern.h"
#include "core/units.h"
#include "core/url.h"
#include "core/utf8.h"
#include "pillarbox/error.h"
#include "pillarbox/message.h"

namespace pillarbox::core {
namespace {

TEST(Utf8, CountsCharactersAndRefusesWhatIsMalformed) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("Euro € 😀"), 8U);
  for (const std::string_view bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "a\xFF", "\xC3("}) {
    EXPECT_FALSE(utf8_length(bad)) << bad;
  }
}

TEST(Utf8, CutsAtACharactersBorder) {
  EXPECT_EQ(utf8_prefix("a€b", 10), "a€b");
  EXPECT_EQ(utf8_prefix("a€b", 4), "a€");
  EXPECT_EQ(utf8_prefix("a€b", 3), "a");
  EXPECT_EQ(utf8_prefix("€", 0), "");
}

TEST(Utf8, MakesForeignTextStorable) {
  EXPECT_EQ(storable_text("fine €", 100), "fine €");
  EXPECT_EQ(storable_text(std::string("a\0b\xff€", 7), 100), "a?b?€");
  EXPECT_EQ(storable_text("a€", 2), "a");
}

TEST(MessageIdText, ReadsAnyCaseAndWritesLowerCase) {
  const auto id = MessageId::parse("0190A1B2-c3d4-7EF0-8123-456789abcdef");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->to_string(), "0190a1b2-c3d4-7ef0-8123-456789abcdef");
  for (const std::string_view bad :
       {"", "0190a1b2-c3d4-7ef0-8123-456789abcde", "0190a1b2-c3d4-7ef0-8123-456789abcdefa",
        "0190a1b2c3d4-7ef0-8123-456789abcdef-", "0190a1b2-c3d4-7ef0-8123-456789abcdeg"}) {
    EXPECT_FALSE(MessageId::parse(bad)) << bad;
  }
}

TEST(Duration, ReadsOneNumberWithOneUnit) {
  EXPECT_EQ(parse_duration("500ms"), Millis(500));
  EXPECT_EQ(parse_duration("7d"), Millis(7LL * 86'400'000));
  EXPECT_EQ(parse_duration("0"), Millis(0));
  for (const std::string_view bad :
       {"", "5", "-5s", "1.5s", "5 s", "5sec", "1h30m", "99999999999999999999s", "s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Duration, SurvivesTheWayThereAndBack) {
  for (const std::int64_t ms :
       {0LL, 1LL, 999LL, 1'000LL, 61'000LL, 3'600'000LL, 604'800'000LL, 86'400'001LL}) {
    EXPECT_EQ(parse_duration(format_duration(Millis(ms))), Millis(ms));
  }
  EXPECT_EQ(describe_duration(Millis(192'000)), "3 min 12 s");
}

TEST(Size, ReadsBinaryUnits) {
  EXPECT_EQ(parse_size("64KiB"), 65'536U);
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_FALSE(parse_size("8MB"));
  EXPECT_EQ(format_size(8U << 20U), "8MiB");
}

TEST(Time, ReadsAndWritesRfc3339) {
  const auto time = parse_time("2026-12-01T10:11:12.345Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(format_time(*time), "2026-12-01T10:11:12.345Z");
  EXPECT_EQ(parse_time("2026-12-01T12:11:12.345+02:00"), time);
  EXPECT_EQ(format_time(*parse_time("2026-12-01")), "2026-12-01T00:00:00.000Z");
  EXPECT_EQ(format_time(DbTime(-1'000)), "1969-12-31T23:59:59.999Z");
  for (const std::string_view bad :
       {"2026-13-01", "2026-02-30", "2026-12-01T25:00:00Z", "2026-12-01T10:11:12",
        "2026-12-01T10:11:12.Z", "2026-12-01T10:11:12+0200", "yesterday", "2026-1-1"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(TypePattern, HasAStarAtTheEndOnly) {
  EXPECT_TRUE(matches_type("email.*", "email.welcome.v1"));
  EXPECT_TRUE(matches_type("*", "anything"));
  EXPECT_FALSE(matches_type("email.*", "emails"));
  EXPECT_FALSE(matches_type("email", "email.v1"));
  EXPECT_FALSE(is_type_pattern("a*b"));
  EXPECT_FALSE(is_type_pattern(""));
  EXPECT_TRUE(brake_covers("all", "x"));
  EXPECT_TRUE(brake_covers("type:x.*", "x.1"));
  EXPECT_FALSE(brake_covers("type:x.*", "y.1"));
}

TEST(Suggestion, NamesTheNearestAndNothingFar) {
  constexpr std::string_view kNames[] = {"batch_size", "batch_bytes", "lease", "workers"};
  EXPECT_EQ(nearest_name("batchsize", kNames), "batch_size");
  EXPECT_EQ(nearest_name("laese", kNames), "lease");
  EXPECT_EQ(nearest_name("colour", kNames), "");
}

TEST(ErrorGroup, ReplacesWhatChanges) {
  EXPECT_EQ(normalise_error("timeout after 20 s for order 4711"), "timeout after # s for order #");
  EXPECT_EQ(normalise_error("id 0190a1b2-c3d4-7ef0-8123-456789abcdef gone"), "id # gone");
  EXPECT_EQ(normalise_error("http_503 from host-12"), "http_# from host-#");
  EXPECT_EQ(normalise_error("deadbeef is a word, deadbee1 a number"),
            "deadbeef is a word, # a number");
}

TEST(UrlText, HasItsPartsDecoded) {
  const Url url =
      parse_url("postgresql://us%40er:p%3Aw@db.internal:5433/shop?sslmode=verify-full&schema=pb");
  EXPECT_EQ(url.scheme, "postgresql");
  EXPECT_EQ(url.user, "us@er");
  EXPECT_EQ(url.password, "p:w");
  EXPECT_EQ(url.host, "db.internal");
  EXPECT_EQ(url.port, 5433);
  EXPECT_EQ(url.path, "/shop");
  EXPECT_EQ(url.query.at("sslmode"), "verify-full");
  EXPECT_EQ(parse_url("sqlite:data/app.db").path, "data/app.db");
  EXPECT_EQ(parse_url("http://[::1]:80/x").host, "::1");
  EXPECT_EQ(parse_url("postgresql://a:1,b:2/db").host, "a:1,b:2");
}

TEST(UrlText, IsRefusedWithThePosition) {
  for (const std::string_view bad :
       {"", "no-scheme", "http://h:0/", "http://h:99999/", "http://[::1/", "x://h/%zz", "x://h/%00",
        "x://h/a b", "x://h/?a=1&a=2", "x://h/#f"}) {
    EXPECT_THROW((void)parse_url(bad), Error) << bad;
  }
}

TEST(UrlText, NeverShowsASecret) {
  EXPECT_EQ(redact_url("postgresql://u:hunter2@h/db?sslpassword=hunter2&x=1"),
            "postgresql://u:***@h/db?sslpassword=***&x=1");
  EXPECT_EQ(redact_url("http://u:hun@ter2@h/"), "http://u:***@h/");
  EXPECT_EQ(redact_url("host=h password=hunter2"), "***");
  EXPECT_EQ(redact_url("postgresql://u:hun/ter2@h/db"), "postgresql://u:***@h/db");
  EXPECT_EQ(redact_url("postgresql://u:hun?ter2@h/db"), "postgresql://u:***@h/db");
  EXPECT_EQ(redact_url("postgresql://u:hun#ter2@h/db?x=1"), "postgresql://u:***@h/db");
  EXPECT_EQ(redact_url("u:hunter2@h/db"), "u:***@h/db");
  EXPECT_EQ(redact_url("https://h/a@b?c=1"), "https://h/a@b?c=1");
  EXPECT_EQ(redact_url("file:/spool/a@b.jsonl"), "file:/spool/a@b.jsonl");
  try {
    (void)parse_url("http://u:hunter2@h:bad/");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
  }
}

TEST(Chance, IsTheSameForTheSameSeedAndBounded) {
  SeededRandom a(7);
  SeededRandom b(7);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = a.below(10);
    EXPECT_EQ(value, b.below(10));
    EXPECT_LT(value, 10U);
  }
  EXPECT_EQ(a.below(0), 0U);
}

}  // namespace
}  // namespace pillarbox::core
