// SPDX-License-Identifier: Apache-2.0
// Pitfall DB7: the plan of a hot statement must not depend on what the planner believes about the
// data.
#include <gtest/gtest.h>

#include "sql/embedded.h"
#include "store/sqlite/test_outbox.h"

namespace pillarbox::sqlite {
namespace {

struct Hot {
  const char* file;
  const char* index;  // that the first step of the plan names
};

constexpr Hot kHot[] = {
    {"claim_pending.sql", "USING INDEX pillarbox_outbox_pending"},
    {"claim_lost.sql", "USING INDEX pillarbox_outbox_claimed"},
    {"claim_key.sql", "USING INDEX pillarbox_outbox_key_live"},
    {"claim_read.sql", "USING INTEGER PRIMARY KEY"},
    {"claim.sql", "USING INTEGER PRIMARY KEY"},
    {"claim_reclaimed.sql", "USING INTEGER PRIMARY KEY"},
    {"renew.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_dispatched.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_dispatched_away.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_retry.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_release.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_dead.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_attempt.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_dead_letter.sql", "USING INTEGER PRIMARY KEY"},
    {"settle_park.sql", "USING INDEX pillarbox_outbox_key_live"},
    {"settle_park_letters.sql", "USING INDEX pillarbox_outbox_key_live"},
    {"attempt_purge.sql", "USING INDEX pillarbox_attempt_outbox_id"},
    {"find.sql", "pillarbox_outbox_message_id"},
    {"list_row.sql", "USING INTEGER PRIMARY KEY"},
    {"dead_letters.sql", "USING PRIMARY KEY"},
    {"claimed_in_scope.sql", "USING INDEX pillarbox_outbox_claimed"},
};

class SqlitePlan : public OutboxTest {
 protected:
  void expect_right_plans(const std::string& state) {
    Shell shell(file());
    for (const Hot& hot : kHot) {
      const std::string text(
          sql::statement(sql::sqlite_files(), std::string("statements/") + hot.file));
      std::string plan;
      for (const std::string& row : shell.rows("explain query plan " + text)) plan += row + "\n";
      EXPECT_NE(plan.substr(0, plan.find('\n')).find(hot.index), std::string::npos)
          << state << ", " << hot.file << ":\n"
          << plan;
      EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << state << ", " << hot.file << ":\n"
                                                             << plan;
    }
    for (const char* purge : {"purge_dispatched.sql", "purge_tombstones.sql", "purge_inbox.sql",
                              "purge_dead_rows.sql"}) {
      const std::string text(
          sql::statement(sql::sqlite_files(), std::string("statements/") + purge));
      std::string plan;
      for (const std::string& row : shell.rows("explain query plan " + text)) plan += row + "\n";
      EXPECT_EQ(plan.find("TEMP B-TREE FOR ORDER BY"), std::string::npos)
          << state << ", " << purge << ":\n"
          << plan;
    }
  }
  void fill(int count, const std::string& type = "a.v1") {
    Shell(file()).rows(
        "insert into pillarbox_outbox (job_type, payload, ordering_key) with recursive n(i) as "
        "(select 1 union all "
        "select i + 1 from n where i < " +
        std::to_string(count) + ") select '" + type +
        "', '1', iif(i % 3 = 0, 'k' || (i % 50), null) from n");
  }
  void settle_all(int status) {
    Shell(file()).rows("update pillarbox_outbox set status = " + std::to_string(status) +
                       ", dispatched_at = iif(" + std::to_string(status) + " = 2, id, null)");
  }
};

TEST_F(SqlitePlan, IsRightWhenEmpty) { expect_right_plans("empty"); }

TEST_F(SqlitePlan, IsRightWithManyPending) {
  fill(20'000);
  expect_right_plans("many pending");
  Shell(file()).rows("analyze");
  expect_right_plans("many pending, analysed");
}

TEST_F(SqlitePlan, IsRightAfterAMassDispatch) {
  fill(20'000);
  Shell(file()).rows("analyze");
  settle_all(2);
  expect_right_plans("just dispatched, statistics of before");
  Shell(file()).rows("analyze");
  fill(100);
  expect_right_plans("99 % dispatched, analysed");
}

TEST_F(SqlitePlan, IsRightWhenAnalysedWhileEmptyAndThenFilled) {
  fill(10);
  Shell(file()).rows("delete from pillarbox_outbox; analyze");
  fill(20'000);
  expect_right_plans("analysed while empty, then filled");
}

TEST_F(SqlitePlan, IsRightWhenNearlyAllAreDead) {
  fill(20'000);
  settle_all(3);
  fill(200, "b.v1");
  Shell(file()).rows("analyze");
  expect_right_plans("99 % dead");
}

}  // namespace
}  // namespace pillarbox::sqlite
