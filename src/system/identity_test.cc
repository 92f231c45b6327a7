// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "pillarbox/message.h"
#include "pillarbox/store.h"

namespace pillarbox {
namespace {

TEST(MessageIdMade, IsVersion7AndRisesWithinAProcess) {
  MessageId last;
  for (int i = 0; i < 20'000; ++i) {
    const MessageId id = MessageId::make();
    EXPECT_EQ(id.bytes()[6] >> 4U, 7);
    EXPECT_EQ(id.bytes()[8] >> 6U, 2);
    ASSERT_LT(last, id);
    last = id;
  }
}

TEST(MessageIdMade, IsUniqueAcrossThreads) {
  std::vector<std::vector<MessageId>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : made) {
      threads.emplace_back([&ids] {
        for (int i = 0; i < 5'000; ++i) ids.push_back(MessageId::make());
      });
    }
  }
  std::set<MessageId> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), 20'000U);
}

TEST(ClaimedBy, IsLowerCaseAndDiffersEachTime) {
  const std::string name = make_claimed_by();
  EXPECT_NE(name, make_claimed_by());
  EXPECT_LE(name.size(), 100U);
  for (const char c : name) EXPECT_FALSE(c >= 'A' && c <= 'Z');
}

}  // namespace
}  // namespace pillarbox
