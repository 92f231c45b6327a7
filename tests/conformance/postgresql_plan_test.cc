// SPDX-License-Identifier: Apache-2.0
// What the hot statements cost in the states that make planners change their minds: always by their
// index, never sorting rows, never reading the table; and claims that touch no index.
#include <map>
#include <regex>

#include "tests/conformance/postgresql_test.h"

namespace pillarbox::testing {
namespace {

class PostgresqlPlan : public PostgresqlTest {
 protected:
  static constexpr int kMany = 100'000;

  // The plan of a statement file with values for its parameters, under the settings of our
  // transactions; executed and rolled back.
  std::string plan(const std::string& name, const std::string& types, const std::string& values) {
    std::string text = statement(name);
    text.resize(text.rfind(';'));
    Sql& session = outbox().session();
    session("begin isolation level read committed");
    for (const char* off : {"seqscan", "bitmapscan", "hashjoin", "mergejoin"})
      session("set local enable_" + std::string(off) + " = off");
    // A cached plan is generic: it knows no values.
    session("set local plan_cache_mode = force_generic_plan");
    session("deallocate all; prepare hot (" + types + ") as " + text);
    std::string lines;
    for (const auto& row : session.rows(
             "explain (analyze, buffers, costs off, timing off, summary off) execute hot (" +
             values + ")"))
      lines += row[0] + "\n";
    session("rollback; deallocate all");
    return lines;
  }
  std::string claim_plan(int count = 500) {
    return plan("claim", "text, bigint, bigint, bigint, timestamptz, text[]",
                "'a:1:b', 60000, " + std::to_string(count) + ", 8388608, '-infinity', '{}'");
  }
  std::string keyed_plan() {
    return plan("claim_keyed", "text, bigint, bigint, bigint, text, text[], int",
                "'a:1:b', 60000, 500, 8388608, '', '{}', 1000");
  }
  std::string settle_plan(const char* name) {
    sql("update pillarbox.outbox set status = 1, claimed_by = 'a:1:b', claim_no = 1, locked_until "
        "= "
        "now() + interval '1 minute' where id in (select id from pillarbox.outbox where live order "
        "by id limit 500)");
    const auto list = [&](const std::string& column) {
      return "'{" +
             sql("select coalesce(string_agg(" + column +
                 "::text, ',' order by id), '') from pillarbox.outbox where status = 1") +
             "}'";
    };
    if (std::string_view(name) == "settle_leave_first")
      return plan(name, "text, bigint[]", "'a:1:b', " + list("id"));
    return plan(name, "text, bigint[], bigint[]",
                "'a:1:b', " + list("id") + ", " + list("claim_no"));
  }

  static void expect_walks(const std::string& plan, const std::string& index) {
    EXPECT_NE(plan.find(index), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Seq Scan on outbox"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("external"), std::string::npos) << plan;  // no sort that spills
    // The rows that are taken may be put in order; what lies waiting never is.
    const std::size_t due = plan.find("CTE due");
    const std::size_t after = plan.find("CTE taken");
    if (due != std::string::npos && after != std::string::npos && due < after) {
      EXPECT_EQ(plan.substr(due, after - due).find("Sort"), std::string::npos) << plan;
    }
  }

  // Pages that the whole statement touched.
  static long buffers(const std::string& plan) {
    static const std::regex kBuffers(R"(Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?)");
    std::smatch found;
    if (!std::regex_search(plan, found, kBuffers)) return 0;
    long sum = 0;
    for (const std::size_t i : {1U, 2U})
      if (found[i].matched) sum += std::stol(found[i]);
    return sum;
  }

  // Of all nodes: what is written by parts that nobody reads is not in the first one's count.
  static long buffers_of_all_nodes(const std::string& plan) {
    long sum = 0;
    for (std::size_t at = plan.find("Buffers: "); at != std::string::npos;
         at = plan.find("Buffers: ", at + 1))
      sum += buffers(plan.substr(at, plan.find('\n', at) - at));
    return sum;
  }

  // Every statement that runs all day, as a busy relay runs it; 100 messages at a time.
  std::map<std::string, std::string> hot_plans() {
    sql("update pillarbox.outbox set status = 1, claimed_by = 'a:1:b', claim_no = 1, locked_until "
        "= now() + interval '1 minute' where id in (select id from pillarbox.outbox where "
        "ordering_key is null and status = 0 and available_at <= now() order by id limit 100)");
    const auto list = [&](const std::string& what) {
      return "'{" +
             sql("select string_agg((" + what +
                 ")::text, ',' order by id) from pillarbox.outbox where claimed_by = 'a:1:b'") +
             "}'";
    };
    const std::string ours = "'a:1:b', " + list("id") + ", " + list("claim_no");
    std::map<std::string, std::string> plans;
    plans["claim"] = claim_plan(100);
    plans["claim_keyed"] = keyed_plan();
    plans["renew"] = plan("renew", "text, bigint[], bigint[], bigint", ours + ", 60000");
    plans["settle_dispatched"] = plan("settle_dispatched", "text, bigint[], bigint[]", ours);
    plans["settle_leave"] = plan("settle_leave", "text, bigint[], bigint[]", ours);
    plans["settle_leave_first"] =
        plan("settle_leave_first", "text, bigint[]", "'a:1:b', " + list("id"));
    plans["settle"] = plan("settle",
                           "text, bigint[], bigint[], smallint[], bigint[], text[], smallint[], "
                           "text[], text[], bigint[], boolean",
                           ours + ", " + list("id % 4") + ", " + list("1000") + ", " +
                               list("'permanent'") + ", " + list("2") + ", " + list("'c'") + ", " +
                               list("'e'") + ", " + list("1") + ", true");
    plans["release"] = plan("release", "bigint[], bigint[], text, text",
                            list("id") + ", " + list("claim_no") + ", 'ada', 'gone'");
    plans["purge_dispatched"] = plan("purge_dispatched", "bigint, bigint, bigint", "0, 100, 0");
    plans["purge_inbox"] = plan("purge_inbox", "bigint, bigint", "0, 100");
    const std::string enqueue_types = "text, bytea, text, json, uuid, text, text, bigint, bigint";
    for (int i = 0; i < 2; ++i)  // a first call also reads the catalog
      plans["enqueue"] = plan("enqueue", enqueue_types,
                              "'a', '1', 'text/plain', null, null, null, 'k', null, null");
    sql("update pillarbox.outbox set claimed_by = 'c:1:d' where claimed_by = 'a:1:b'");
    return plans;
  }

  void expect_good_plans() {
    expect_walks(claim_plan(), "outbox_due");
    expect_walks(keyed_plan(), "outbox_keys");
    for (const char* name : {"settle_dispatched", "settle_leave", "settle_leave_first"})
      expect_walks(settle_plan(name), "outbox_pkey");
    const std::string renewal = plan("renew", "text, bigint[], bigint[], bigint",
                                     "'a:1:b', array[1, 2], array[1, 1], 60000");
    expect_walks(renewal, "outbox_pkey");
  }
};

TEST_P(PostgresqlPlan, IsTheSameForAnEmptyOutbox) { expect_good_plans(); }

TEST_P(PostgresqlPlan, IsTheSameForManyPending) {
  fill(kMany);
  fill(5'000, "'k' || n % 50");
  sql("analyze pillarbox.outbox");
  expect_good_plans();
  EXPECT_LT(buffers(claim_plan(100)), 2'500) << claim_plan(100);
}

TEST_P(PostgresqlPlan, IsTheSameWhenAnalysedEmptyAndThenFilled) {
  sql("analyze pillarbox.outbox");
  fill(kMany);
  fill(5'000, "'k' || n % 50");
  expect_good_plans();
}

TEST_P(PostgresqlPlan, IsTheSameJustAfterAMassDispatch) {
  fill(kMany);
  sql("analyze pillarbox.outbox");
  sql("update pillarbox.outbox set status = 2, dispatched_at = now()");
  fill(1'000);
  expect_good_plans();
}

TEST_P(PostgresqlPlan, IsTheSameWhenNearlyAllAreDead) {
  fill(kMany);
  sql("update pillarbox.outbox set status = 3 where id % 100 <> 0");
  sql("analyze pillarbox.outbox");
  expect_good_plans();
}

// What lies in the table costs the work of a moment nothing: dispatched rows before the head, dead
// ones, delayed ones, others' claims, and messages that wait behind the head of their key.
TEST_P(PostgresqlPlan, OfEveryHotStatementCostsTheSameHoweverMuchLiesInTheTable) {
  const auto lay = [&](int count) {
    fill(count);
    sql("update pillarbox.outbox set status = 2, dispatched_at = now(), claimed_by = null "
        "where ordering_key is null and status <= 1 and available_at <= now()");
    fill(count / 2);
    sql("update pillarbox.outbox set status = 3 where ordering_key is null and status = 0 and "
        "available_at <= now()");
    fill(count / 2);
    sql("update pillarbox.outbox set available_at = now() + interval '1 day' where ordering_key is "
        "null and status = 0");
    fill(count, "'k' || n % 50");
    fill(count);
    sql("insert into pillarbox.inbox select 'mailer', gen_random_uuid() from generate_series(1, " +
        std::to_string(count) + ")");
    sql("vacuum analyze pillarbox.outbox");
    sql("vacuum analyze pillarbox.inbox");
  };
  std::map<std::string, long> before;
  lay(2'000);
  for (const auto& [name, plan] : hot_plans()) before[name] = buffers_of_all_nodes(plan);
  lay(20'000);
  for (const auto& [name, plan] : hot_plans()) {
    EXPECT_GT(before[name], 0) << name;
    EXPECT_LE(buffers_of_all_nodes(plan), 2 * before[name] + 100) << name << '\n' << plan;
    EXPECT_EQ(plan.find("Seq Scan on outbox"), std::string::npos) << name << '\n' << plan;
  }
}

// One key has very many messages waiting behind its head: the others cost no more for it.
TEST_P(PostgresqlPlan, OfKeyedClaimsCostsPerKeyAndNotPerMessageThatWaits) {
  fill(50, "'k' || n");
  const long before = buffers(keyed_plan());
  fill(50'000, "'k7'");
  const long after = buffers(keyed_plan());
  EXPECT_LT(after, 2 * before + 100) << keyed_plan();
}

TEST_P(PostgresqlPlan, OfAClaimTouchesNoIndex) {
  const auto updates = [&](const std::string& kind) {
    return std::stol(sql("select n_tup_" + kind +
                         " from pg_stat_user_tables where relid = 'pillarbox.outbox'::regclass"));
  };
  fill(5'000);
  StoreOptions options = outbox().options();
  options.claimed_by = "a:1:b";
  auto store = outbox().factory().connect(options);
  const long before = updates("upd");
  const long hot_before = updates("hot_upd");
  std::size_t claimed = 0;
  for (int i = 0; i < 20; ++i) claimed += store->claim({.count_max = 500}).messages.size();
  EXPECT_EQ(claimed, 5'000U);
  store.reset();  // a session hands its counts in at its end
  EXPECT_TRUE(happens([&] { return updates("upd") - before >= 5'000; }));
  EXPECT_GT(updates("hot_upd") - hot_before, 4'900);
}

// A forgotten transaction keeps every dead row version: claims must not read them again and again.
TEST_P(PostgresqlPlan, OfAClaimDoesNotPayForASnapshotThatSomebodyHolds) {
  const auto forgotten = another_session();
  (*forgotten)("begin isolation level repeatable read; select 1");
  StoreOptions options = outbox().options();
  options.claimed_by = "a:1:b";
  options.keep_dispatched = false;
  const auto store = outbox().factory().connect(options);
  // Older than the mark's lag, so that the mark moves over them.
  sql("insert into pillarbox.outbox (message_id, job_type, payload, available_at) select "
      "gen_random_uuid(), 'a', '1', now() - interval '2 hours' + n * interval '100 ms' from "
      "generate_series(1, 40000) as n");
  DbTime reached{};
  for (int i = 0; i < 60; ++i) {
    const ClaimResult got = store->claim({.count_max = 500});
    if (got.messages.empty()) break;
    reached = got.messages.back().available_at;
    std::vector<Settlement> done;
    for (const ClaimedMessage& message : got.messages)
      done.push_back({.lease = message.lease, .kind = SettleKind::dispatched});
    EXPECT_TRUE(store->settle(done).empty());
  }
  const auto cost = [&](const std::string& mark) {
    return buffers(plan("claim", "text, bigint, bigint, bigint, timestamptz, text[]",
                        "'a:1:b', 60000, 500, 8388608, " + mark + ", '{}'"));
  };
  const std::string mark =
      "to_timestamp(" + std::to_string(to_int(reached)) + " / 1000000.0) - interval '1 second'";
  const long with_mark = cost(mark);
  const long from_the_start = cost("'-infinity'");
  EXPECT_LT(with_mark, 4'000);
  EXPECT_GT(from_the_start, 2 * with_mark);  // else this test could not see a difference
  (*forgotten)("rollback");
}

// A route is backed off while very many of its messages wait at the head. The mark moves over them
// as soon as anything behind them was claimed; until then, and in each sweep, a claim looks at each
// of them once.
TEST_P(PostgresqlPlan, OfAClaimLooksOnceAtWhatIsExcludedAndNotAgainBehindTheMark) {
  constexpr int kExcluded = 50'000;
  fill(kExcluded);
  sql("update pillarbox.outbox set job_type = 'excluded.v1', available_at = now() - interval '1 "
      "hour' + id * interval '1 millisecond'");
  sql("vacuum analyze pillarbox.outbox");
  fill(1'000);
  const auto cost = [&](const std::string& mark) {
    return buffers(plan("claim", "text, bigint, bigint, bigint, timestamptz, text[]",
                        "'a:1:b', 60000, 100, 8388608, " + mark + ", '{excluded.v1}'"));
  };
  const long sweep = cost("'-infinity'");
  const long marked = cost("now() - interval '1 minute'");
  RecordProperty("buffers_of_a_sweep", static_cast<int>(sweep));
  RecordProperty("buffers_behind_the_mark", static_cast<int>(marked));
  EXPECT_LT(sweep, kExcluded / 5);  // rows that came together lie together
  // 100 rows taken cost a dozen pages each at the most, and what an earlier test left a little
  // more.
  EXPECT_LT(marked, 2'500);
  EXPECT_GT(sweep, marked + 500);  // else this test could not see a difference
}

INSTANTIATE_TEST_SUITE_P(Own, PostgresqlPlan, ::testing::Values("PostgreSQL15", "PostgreSQL18"),
                         server_name);

}  // namespace
}  // namespace pillarbox::testing
