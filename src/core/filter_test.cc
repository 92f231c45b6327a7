// SPDX-License-Identifier: Apache-2.0
#include "core/filter.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace pillarbox::core {
namespace {

TEST(FilterText, JoinsConditionsByAndAndValuesByOr) {
  const ParsedFilter parsed = parse_filter(
      "status:dead,retrying type:email.* -type:email.x route:hangfire key:order-17 corr:4711 "
      "attempts:>3 "
      "error:\"timed out\" age:>5m occurred:2026-12-01..2026-12-02 header.tenant:acme "
      "-reason:expired id:17");
  ASSERT_TRUE(parsed.problems.empty()) << parsed.problems[0].text;
  const Filter& f = parsed.filter;
  EXPECT_EQ(f.statuses, std::vector<Status>{Status::dead});
  EXPECT_EQ(f.views, std::vector<std::string>{"retrying"});
  EXPECT_EQ(f.job_types, std::vector<std::string>{"email.*"});
  EXPECT_EQ(f.not_job_types, std::vector<std::string>{"email.x"});
  EXPECT_EQ(parsed.routes, std::vector<std::string>{"hangfire"});
  EXPECT_EQ(f.attempts_min, 4);
  EXPECT_EQ(f.error_contains, "timed out");
  EXPECT_EQ(f.age_min, Millis(300'000));
  EXPECT_EQ(to_int(*f.occurred_before) - to_int(*f.occurred_from), 86'400'000'000);
  EXPECT_EQ(f.headers, (Headers{{"tenant", "acme"}}));
  EXPECT_EQ(f.not_reasons, std::vector<DeadReason>{DeadReason::expired});
  EXPECT_EQ(f.ids, std::vector<RowId>{RowId(17)});
}

TEST(FilterText, SaysWhereAndWhatWouldBeRight) {
  const auto only = [](std::string_view text) {
    const ParsedFilter parsed = parse_filter(text);
    EXPECT_EQ(parsed.problems.size(), 1U) << text;
    return parsed.problems.empty() ? FilterProblem{} : parsed.problems[0];
  };
  EXPECT_EQ(only("status:dead stauts:x").position, 13U);
  EXPECT_NE(only("stauts:x").text.find("\"status\""), std::string::npos);
  EXPECT_NE(only("status:daed").text.find("\"dead\""), std::string::npos);
  for (const std::string_view bad :
       {"dead", "status:", "error:\"x", "-status:dead", "age:5m", "attempts:many", "id:x",
        "type:a*b", "error:\"\"", "type:a type:b", "error:a error:b", "attempts:>1 attempts:>3",
        "attempts:1,2", "age:>5m,<1h", "occurred:2026-12-01,2026-12-02", "occurred:yesterday",
        "reason:odd", "header.:x", "occurred:.."}) {
    only(bad);
  }
}

TEST(FilterText, TakesBothSidesOfASpan) {
  const ParsedFilter parsed =
      parse_filter("age:>5m age:<1h attempts:>1 attempts:<9 -type:a -type:b");
  EXPECT_TRUE(parsed.problems.empty());
  EXPECT_EQ(parsed.filter.age_max, Millis(3'600'000));
  EXPECT_EQ(parsed.filter.attempts_max, 8);
}

TEST(FilterText, SurvivesAnything) {
  SeededRandom random(1);
  const std::string_view alphabet = "status:dead,-\"*.>< typeagocurid0123\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(40); n > 0; --n)
      text += alphabet[random.below(alphabet.size())];
    (void)parse_filter(text);
  }
}

}  // namespace
}  // namespace pillarbox::core
