// SPDX-License-Identifier: Apache-2.0
#include "sink/setting_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pillarbox/error.h"

namespace pillarbox::sink {
namespace {

constexpr SinkSetting kTable[] = {
    {SinkSetting::Place::sink, "timeout", SinkSetting::Type::duration, "", "20s", ""},
    {SinkSetting::Place::sink, "format", SinkSetting::Type::choice, "raw|json", "raw", ""},
    {SinkSetting::Place::sink, "open", SinkSetting::Type::boolean, "", "false", ""},
    {SinkSetting::Place::route, "width", SinkSetting::Type::integer, "", "16", ""},
};

SinkSettings settings(std::map<std::string, std::string> sink,
                      std::map<std::string, std::string> route = {}) {
  return {.name = "partner", .sink = std::move(sink), .route = std::move(route)};
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "PBX-5002");
    EXPECT_EQ(e.kind(), ErrorKind::invalid_input);
    return e.what();
  }
  return "nothing was refused";
}

TEST(SettingValues, GivesTheDefaultOfTheTable) {
  const SinkSettings none = settings({});
  const SettingValues values(none, kTable);
  EXPECT_EQ(values.duration("timeout", Millis{1}, Millis{60'000}), Millis{20'000});
  EXPECT_EQ(values.choice("format"), "raw");
  EXPECT_FALSE(values.boolean("open"));
  EXPECT_EQ(values.integer("width", 1, 100), 16);
}

TEST(SettingValues, ReadsSinkAndRouteKeysFromTheirOwnPlaces) {
  const SinkSettings given = settings({{"timeout", "250ms"}, {"format", "json"}, {"width", "3"}},
                                      {{"width", "7"}, {"open", "true"}});
  const SettingValues values(given, kTable);
  EXPECT_EQ(values.duration("timeout", Millis{1}, Millis{60'000}), Millis{250});
  EXPECT_EQ(values.choice("format"), "json");
  EXPECT_FALSE(values.boolean("open"));
  EXPECT_EQ(values.integer("width", 1, 100), 7);
}

TEST(SettingValues, NamesTheKeyAndWhatWouldBeRight) {
  const SinkSettings given =
      settings({{"timeout", "20"}, {"format", "xml"}, {"open", "yes"}}, {{"width", "1e3"}});
  const SettingValues values(given, kTable);
  EXPECT_THAT(
      refusal([&] { (void)values.duration("timeout", Millis{1'000}, Millis{60'000}); }),
      testing::AllOf(testing::HasSubstr("sink.partner.timeout"), testing::HasSubstr("1s to 1m")));
  EXPECT_THAT(refusal([&] { (void)values.choice("format"); }),
              testing::HasSubstr("\"raw\", \"json\""));
  EXPECT_THAT(refusal([&] { (void)values.boolean("open"); }), testing::HasSubstr("true or false"));
  EXPECT_THAT(refusal([&] { (void)values.integer("width", 1, 100); }),
              testing::AllOf(testing::HasSubstr("route"), testing::HasSubstr("1 to 100")));
}

TEST(SettingValues, RefusesDurationsThatAreNone) {
  for (const char* text : {"", "s", "-1s", "1 s", "1.5s", "1w", "99999999999999999999s", "1ss"}) {
    const SinkSettings given = settings({{"timeout", text}});
    EXPECT_THROW((void)SettingValues(given, kTable).duration("timeout", Millis{0}, Millis::max()),
                 Error)
        << text;
  }
}

}  // namespace
}  // namespace pillarbox::sink
