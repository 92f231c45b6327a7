// SPDX-License-Identifier: Apache-2.0
// The reference of settings is the table that the configuration is checked against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#ifdef PILLARBOX_WITH_HANGFIRE
#include "sink/hangfire/factory.h"
#endif
#include "sink/http/factory.h"

namespace pillarbox::testing {
namespace {

std::string row(const SinkSetting& setting) {
  std::string type;
  switch (setting.type) {
    case SinkSetting::Type::text:
      type = "text";
      break;
    case SinkSetting::Type::duration:
      type = "duration";
      break;
    case SinkSetting::Type::size:
      type = "size";
      break;
    case SinkSetting::Type::integer:
      type = "whole number";
      break;
    case SinkSetting::Type::boolean:
      type = "true or false";
      break;
    case SinkSetting::Type::secrets:
      type = "list of secrets";
      break;
    case SinkSetting::Type::list:
      type = "list of texts";
      break;
    case SinkSetting::Type::choice:
      for (std::string_view rest = setting.choices; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find('|'));
        type += (type.empty() ? "`" : ", `") + std::string(one) + "`";
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      }
      break;
  }
  const std::string place = setting.place == SinkSetting::Place::route ? "route" : "sink";
  const std::string value =
      setting.default_value.empty() ? "" : "`" + std::string(setting.default_value) + "`";
  return "| `" + std::string(setting.name) + "` | " + place + " | " + type + " | " + value + " | " +
         std::string(setting.help) + " |\n";
}

void expect_table(const std::string& kind, const SinkFactory& factory) {
  std::ifstream in(PILLARBOX_SOURCE_DIR "/docs/reference/sinks.md");
  std::ostringstream text;
  text << in.rdbuf();
  std::string table =
      "| setting | of | value | default | what it does |\n| --- | --- | --- | --- | --- |\n";
  for (const SinkSetting& setting : factory.settings()) table += row(setting);
  EXPECT_THAT(text.str(), ::testing::HasSubstr("<!-- settings:" + kind + " -->\n" + table + "\n"))
      << "docs/reference/sinks.md must hold this table:\n"
      << table;
}

TEST(SinkDocs, ListEverySettingOfTheHttpSinkAsTheProgramHasIt) {
  expect_table("http", *http::make_factory());
}

#ifdef PILLARBOX_WITH_HANGFIRE
TEST(SinkDocs, ListEverySettingOfTheHangfireSinkAsTheProgramHasIt) {
  expect_table("hangfire", *hangfire::make_factory());
}
#endif

}  // namespace
}  // namespace pillarbox::testing
