// SPDX-License-Identifier: Apache-2.0
#include "sink/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "pillarbox/error.h"

namespace pillarbox {
namespace {

TEST(SinkRegistry, FindsTheFactoryOfAScheme) {
  EXPECT_EQ(sink_factory_for("null:").schemes()[0], "null");
  EXPECT_EQ(sink_factory_for("file:/x").schemes()[0], "file");
  EXPECT_EQ(&sink_factory_for("stdout:"), &sink_factory_for("file:/x"));
}

TEST(SinkRegistry, ListsTheSchemesThereAreWhenOneIsUnknown) {
  for (const char* url : {"htps://h/", "nothing", ""}) {
    try {
      (void)sink_factory_for(url);
      ADD_FAILURE() << url;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PBX-2011");
      EXPECT_THAT(e.what(),
                  testing::AllOf(testing::HasSubstr("file, stdout"), testing::HasSubstr("null")));
    }
  }
}

// What a sink says about itself is shown to users and asked by the configuration.
TEST(SinkRegistry, EachSinkDescribesItself) {
  std::set<std::string_view> schemes;
  for (const auto& factory : sink_factories()) {
    for (const std::string_view scheme : factory->schemes()) {
      EXPECT_TRUE(schemes.insert(scheme).second) << scheme << " is there twice";
    }
    EXPECT_TRUE(factory->acknowledgement().ends_with(".")) << factory->acknowledgement();
    std::set<std::string_view> names;
    for (const SinkSetting& setting : factory->settings()) {
      EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is there twice";
      EXPECT_EQ(setting.type == SinkSetting::Type::choice, !setting.choices.empty())
          << setting.name;
    }
  }
}

}  // namespace
}  // namespace pillarbox
