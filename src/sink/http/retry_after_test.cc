// SPDX-License-Identifier: Apache-2.0
#include "sink/http/retry_after.h"

#include <gtest/gtest.h>

namespace pillarbox::http {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr sys_seconds kExample{seconds{784111777}};  // 1994-11-06 08:49:37

TEST(RetryAfter, ReadsTheThreeDateFormsOfTheStandard) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), kExample);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), kExample);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), kExample);
}

TEST(RetryAfter, ReadsNoOtherDates) {
  for (const char* text :
       {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT+1", "1994-11-06T08:49:37Z",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nop 1994 08:49:37 GMT", "784111777",
        "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun Nov 6",
        "Sun, 06 Nov 1994 08:49:37 PST"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

TEST(RetryAfter, ReadsSecondsAndBoundsThem) {
  EXPECT_EQ(parse_retry_after("0", ""), Millis{0});
  EXPECT_EQ(parse_retry_after("120", ""), Millis{120'000});
  EXPECT_GT(parse_retry_after("99999999999999999999999", ""), Millis{1'000'000'000});
}

TEST(RetryAfter, IgnoresWhatIsNeitherSecondsNorADate) {
  for (const char* text : {"", "-5", "+5", "1.5", "soon", "10 s", "0x10", " 7"}) {
    EXPECT_EQ(parse_retry_after(text, "Sun, 06 Nov 1994 08:49:37 GMT"), std::nullopt) << text;
  }
}

// The server's clock may be hours away from ours, so a date counts from the answer's own.
TEST(RetryAfter, CountsADateFromTheAnswersOwnDate) {
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"),
            Millis{60'000});
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            std::nullopt);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            std::nullopt);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2994 08:49:37 GMT", ""), std::nullopt);
}

}  // namespace
}  // namespace pillarbox::http
