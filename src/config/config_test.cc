// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "config/secret.h"
#include "pillarbox/error.h"

namespace pillarbox::config {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGood = R"([[outbox]]
name = "shop"
store = "sqlite:app.db"

[relay]
batch_size = 100
batch_bytes = "1MiB"

[retention]
dispatched = "0"

[sink.out]
url = "null:"

[[route]]
type = "email.*"
sink = "out"
on_dead = "park"
)";

Loaded read(std::string_view text, Source source = {}) {
  return load_text(text, "pillarbox.toml", source);
}

// The only problem of a text, as a person sees it.
std::string only_problem(std::string_view text, const Source& source = {}) {
  const Loaded loaded = read(text, source);
  EXPECT_FALSE(loaded.configuration);
  if (loaded.problems.size() != 1) {
    ADD_FAILURE() << describe(loaded.problems);
    return {};
  }
  const Problem& p = loaded.problems[0];
  return p.where + ":" + std::to_string(p.line) + ":" + std::to_string(p.column) + " " + p.text;
}

std::string with(std::string_view addition) { return std::string(kGood) + std::string(addition); }

TEST(ConfigFile, IsReadWithItsOrigins) {
  const Loaded loaded = read(kGood);
  ASSERT_TRUE(loaded.configuration) << describe(loaded.problems);
  const Configuration& c = *loaded.configuration;
  EXPECT_EQ(c.relay.outboxes.at(0).name, "shop");
  EXPECT_EQ(c.relay.batch_size, 100U);
  EXPECT_EQ(c.relay.batch_bytes, 1024U * 1024U);
  EXPECT_EQ(c.relay.retention.dispatched, Millis{0});
  EXPECT_EQ(c.relay.retention.dead, std::nullopt);
  EXPECT_EQ(c.relay.routes.at(0).on_dead, KeyPolicy::park);
  EXPECT_EQ(c.relay.lease, Millis{60'000});
  const auto origin = [&](std::string_view key) {
    for (const Value& value : c.values) {
      if (value.key == key) return value.origin;
    }
    return std::string("absent");
  };
  EXPECT_EQ(origin("relay.batch_size"), "file:6");
  EXPECT_EQ(origin("relay.workers"), "default");
}

TEST(ConfigFile, IsOverlaidByTheEnvironmentAndThatByFlags) {
  Source source;
  source.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "PILLARBOX_RELAY__BATCH_SIZE") return "200";
    if (name == "PILLARBOX_RELAY__WORKERS") return "3";
    return std::nullopt;
  };
  source.overrides["relay.workers"] = "4";
  const Loaded loaded = read(kGood, source);
  ASSERT_TRUE(loaded.configuration);
  EXPECT_EQ(loaded.configuration->relay.batch_size, 200U);
  EXPECT_EQ(loaded.configuration->relay.workers, 4U);
}

TEST(ConfigFile, AStoreUrlAloneIsEnough) {
  Source source;
  source.store_url = "sqlite:x.db";
  source.sink_url = "null:";
  const Loaded loaded = read("", source);
  ASSERT_TRUE(loaded.configuration) << describe(loaded.problems);
  EXPECT_EQ(loaded.configuration->relay.outboxes.at(0).store.url, "sqlite:x.db");
  EXPECT_EQ(loaded.configuration->relay.routes.at(0).type, "*");
}

TEST(ConfigProblem, NamesTheLineAndTheNearestKey) {
  EXPECT_EQ(only_problem("[[outbox]]\nstore = \"sqlite:a.db\"\n[relay]\nbatchsize = 1\n"),
            "pillarbox.toml:4:1 unknown key \"relay.batchsize\"; did you mean \"batch_size\"?");
  EXPECT_THAT(only_problem("[rellay]\n[[outbox]]\nstore = \"sqlite:a.db\"\n"),
              HasSubstr("did you mean \"relay\"?"));
  EXPECT_THAT(only_problem(with("[sink.two]\nurl = \"null:\"\ntimeuot = \"1s\"\n")),
              HasSubstr("did you mean \"timeout\"?"));
  EXPECT_THAT(only_problem(with("[[route]]\nsink = \"out\"\non_daed = \"hold\"\n")),
              HasSubstr("did you mean \"on_dead\"?"));
  EXPECT_THAT(only_problem(with("[[route]]\nsink = \"oat\"\n")),
              HasSubstr("did you mean \"out\"?"));
}

TEST(ConfigProblem, NamesTheTypeAndTheRange) {
  EXPECT_THAT(only_problem("[[outbox]]\nstore = \"sqlite:a.db\"\n[relay]\nworkers = \"many\"\n"),
              HasSubstr("must be an integer, it is a string"));
  EXPECT_THAT(only_problem("[[outbox]]\nstore = \"sqlite:a.db\"\n[relay]\nworkers = 0\n"),
              HasSubstr("from 1 to 64"));
  EXPECT_THAT(only_problem("[[outbox]]\nstore = \"sqlite:a.db\"\n[relay]\nlease = 60\n"),
              HasSubstr("as in \"5s\""));
  EXPECT_THAT(
      only_problem("[[outbox]]\nstore = \"sqlite:a.db\"\n[relay]\npoll_interval = \"5 s\"\n"),
      HasSubstr("500ms"));
  EXPECT_THAT(only_problem(with("[[route]]\nsink = \"out\"\nmax_attempts = 0\n")),
              HasSubstr("from 1 to 10000"));
  EXPECT_THAT(only_problem(with("[[route]]\nsink = \"out\"\ntype = \"a*b\"\n")),
              HasSubstr("one '*' at its end"));
  EXPECT_THAT(only_problem("not toml"), HasSubstr("pillarbox.toml:1:"));
}

TEST(ConfigProblem, ChecksWhatOnlyShowsTogether) {
  EXPECT_THAT(only_problem(with("[[route]]\nsink = \"out\"\ntimeout = \"55s\"\n")),
              HasSubstr("\"lease\" is 1m but sink \"out\" may take 55s: it must be at least 65s"));
  EXPECT_THAT(only_problem(with("[retry]\nbase = \"2h\"\n")), HasSubstr("base must not be longer"));
  EXPECT_THAT(only_problem(""), HasSubstr("there is no outbox"));
  EXPECT_THAT(only_problem("[[outbox]]\nstore = \"oracle:x\"\n"), HasSubstr("sqlite"));
  EXPECT_THAT(only_problem("[outbox]\nstore = \"sqlite:x\"\n"), HasSubstr("[[outbox]]"));
  EXPECT_THAT(only_problem("[[outbox]]\nname = \"x\"\n"), HasSubstr("needs store"));
  EXPECT_THAT(only_problem("[[outbox]]\nstore = \"sqlite:a\"\npassword = \"hunter2\"\n"),
              ::testing::AllOf(HasSubstr("must say where the secret is"),
                               ::testing::Not(HasSubstr("hunter2"))));
}

TEST(ConfigProblem, AllAreToldAtOnce) {
  const Loaded loaded =
      read("[[outbox]]\nstore = \"oracle:x\"\n[relay]\nbatchsize = 1\nworkers = 0\n");
  EXPECT_EQ(loaded.problems.size(), 3U);
  EXPECT_THAT(describe(loaded.problems), HasSubstr("3 problems. Nothing was started."));
}

TEST(ConfigProblem, AMisspeltVariableIsSeen) {
  Source source;
  source.environment_names = {"PILLARBOX_RELAY__BATCHSIZE", "PILLARBOX_TEST_POSTGRESQL15_URL"};
  EXPECT_THAT(only_problem(kGood, source), HasSubstr("did you mean PILLARBOX_RELAY__BATCH_SIZE?"));
}

TEST(ConfigText, TheInitialFileIsAcceptedAsItIs) {
  const Loaded loaded = read(initial_file());
  EXPECT_TRUE(loaded.configuration) << describe(loaded.problems);
}

TEST(ConfigText, ShowsNoPassword) {
  const Loaded loaded = read("[[outbox]]\nstore = \"postgresql://u:hunter2@h/db\"\n");
  ASSERT_TRUE(loaded.configuration) << describe(loaded.problems);
  for (const Value& value : loaded.configuration->values)
    EXPECT_THAT(value.text, ::testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(loaded.configuration->warnings.size(), 1U);
  const Loaded proxied = read(
      "[[outbox]]\nstore = \"sqlite:a\"\n[sink.p]\nurl = \"https://h/\"\nproxy = "
      "\"http://u:hunter2@p:1\"\n");
  for (const Problem& problem : proxied.problems)
    EXPECT_THAT(problem.text, ::testing::Not(HasSubstr("hunter2")));
  if (proxied.configuration) {
    for (const Value& value : proxied.configuration->values)
      EXPECT_THAT(value.text, ::testing::Not(HasSubstr("hunter2")));
  }
}

TEST(Secrets, AreReadAnewEachTime) {
  const std::string path = ::testing::TempDir() + "/pillarbox-secret";
  std::ofstream(path) << "one\n";
  const auto secret = secret_from_file(path);
  EXPECT_EQ(secret->read(), "one");
  std::ofstream(path) << "two";
  EXPECT_EQ(secret->read(), "two");
  std::ofstream(path) << "";
  EXPECT_THROW((void)secret->read(), Error);
  std::remove(path.c_str());
  EXPECT_THROW((void)secret->read(), Error);
}

}  // namespace
}  // namespace pillarbox::config
