// SPDX-License-Identifier: Apache-2.0
// pillarbox.enqueue() as any language calls it, in every kind of transaction of the caller.
#include "pillarbox/postgresql.h"
#include "tests/conformance/postgresql_test.h"

namespace pillarbox::testing {
namespace {

class PostgresqlEnqueue : public PostgresqlTest {
 protected:
  std::string count() { return sql("select count(*) from pillarbox.outbox"); }
};

constexpr const char* kId = "'01900000-0000-7000-8000-000000000001'";

TEST_P(PostgresqlEnqueue, TakesTextJsonAndBytesByteForByte) {
  sql("select pillarbox.enqueue('a.v1', '{\"b\": 1,  \"a\":2}')");
  sql("select pillarbox.enqueue('a.v1', '\\x00ff'::bytea, 'application/octet-stream')");
  sql("select pillarbox.enqueue('a.v1', jsonb_build_object('id', 7))");
  EXPECT_EQ(sql("select string_agg(encode(payload, 'escape'), '|' order by id) from "
                "pillarbox.outbox"),
            R"({"b": 1,  "a":2}|\000\377|{"id": 7})");
}

TEST_P(PostgresqlEnqueue, HasNamesForEverythingThatCanBeLeftOut) {
  sql("select pillarbox.enqueue('a.v1', '{}', headers => '{\"z\":\"1\",\"a\":\"2\"}', "
      "correlation_id => 'c', ordering_key => 'k', delay => interval '1 hour', expires_at => "
      "now() + interval '2 hours')");
  EXPECT_EQ(sql("select headers || ' ' || correlation_id || ' ' || ordering_key || ' ' || "
                "extract(epoch from available_at - occurred_at)::int || ' ' || (expires_at > "
                "available_at) from pillarbox.outbox"),
            R"({"z":"1","a":"2"} c k 3600 true)");
}

TEST_P(PostgresqlEnqueue, MakesIdsOfVersion7ThatRise) {
  const std::string first = sql("select pillarbox.enqueue('a.v1', '{}')");
  sql("select pg_sleep(0.002)");
  const std::string second = sql("select pillarbox.enqueue('a.v1', '{}')");
  EXPECT_EQ(first[14], '7');
  EXPECT_NE(std::string("89ab").find(first[19]), std::string::npos);
  EXPECT_LT(first, second);
}

TEST_P(PostgresqlEnqueue, RefusesBadInputWithAStateOfItsOwnAndWritesNothing) {
  for (const char* call : {"'', '{}'",
                           "repeat('x', 201), '{}'",
                           "E'a\\nb', '{}'",
                           "null, '{}'",
                           "'a', null::text",
                           "'a', '{'",
                           "'a', ''",
                           "'a', '\"\\ud800\"'",
                           "'a', '\\xff'::bytea",
                           "'a', '{}', ''",
                           "'a', 'x', 'application/problem+json'",
                           "'a', '{}', repeat('x', 101)",
                           "'a', '{}', headers => '[]'",
                           "'a', '{}', headers => '{\"a\":1}'",
                           "'a', '{}', headers => '{\"a\":\"1\",\"a\":\"2\"}'",
                           "'a', '{}', headers => '{\"\":\"1\"}'",
                           "'a', '{}', headers => '{\"a\":\"\\u0000\"}'",
                           "'a', '{}', headers => json_build_object('a', repeat('x', 32768))",
                           "'a', '{}', correlation_id => repeat('x', 65)",
                           "'a', '{}', ordering_key => repeat('x', 201)",
                           "'a', '{}', ordering_key => E'a\\tb'",
                           "'a', '{}', delay => interval '-1 s'",
                           "'a', repeat('x', 16777217), 'text/plain'"}) {
    EXPECT_EQ(state_of("select pillarbox.enqueue(" + std::string(call) + ")"), "PB001") << call;
  }
  EXPECT_EQ(count(), "0");
}

TEST_P(PostgresqlEnqueue, TakesWhatOnlyLooksBad) {
  for (const char* call :
       {"repeat('ä', 200), '{}'", "'a', 'null'", "'a', '\"\\u0000\"'", "'a', '1e400'",
        "'a', '\"\\ud83d\\ude00\"'", "'a', '', 'text/plain'", "'a', '{}', headers => '{}'",
        "'a', '{}', ordering_key => ''", "'a', repeat('x', 16777216), 'text/plain'"}) {
    EXPECT_EQ(state_of("select pillarbox.enqueue(" + std::string(call) + ")"), "") << call;
  }
  EXPECT_EQ(count(), "9");
}

TEST_P(PostgresqlEnqueue, OfManyIsAllOrNothingAndNamesTheBadOne) {
  EXPECT_EQ(state_of("select pillarbox.enqueue_many(array['a', 'b'], array['{}', '{'])"), "PB001");
  EXPECT_EQ(state_of("select pillarbox.enqueue_many(array['a', 'b'], array['{}'])"), "PB001");
  EXPECT_EQ(count(), "0");
  try {
    sql("select pillarbox.enqueue_many(array['a', 'b'], array['{}', '{'])");
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("message 2 of 2"), std::string::npos) << error.what();
  }
  sql("select pillarbox.enqueue_many(array['a', 'b'], array['{}', '[]'])");
  EXPECT_EQ(sql("select string_agg(job_type || convert_from(payload, 'UTF8'), ' ' order by id) "
                "from pillarbox.outbox"),
            "a{} b[]");
}

TEST_P(PostgresqlEnqueue, OfTheSameIdIsOneMessageInEveryIsolationLevel) {
  // A twin commits after our snapshot was taken: REPEATABLE READ cannot see it, yet the message is
  // one and our transaction lives on.
  int rows = 0;
  for (const char* level : {"read committed", "repeatable read", "serializable"}) {
    for (const bool many : {false, true}) {
      const std::string id = "'01900000-0000-7000-8000-00000000000" + std::to_string(++rows) + "'";
      const std::string call =
          many ? "select pillarbox.enqueue_many(array['a'], array['{}'], message_ids => array[" +
                     id + "::uuid])"
               : "select pillarbox.enqueue('a', '{}', message_id => " + id + ")";
      const auto ours = another_session();
      const auto twin = another_session();
      (*ours)("begin isolation level " + std::string(level) + "; select 1");
      ASSERT_EQ((*twin)(call.substr(0, 7) + schema() + call.substr(call.find('.'))).size(), 36U);
      EXPECT_EQ("'" + run(*ours, call) + "'", id) << level << many;
      run(*ours, "select pillarbox.enqueue('b', '{}')");
      (*ours)("commit");
      EXPECT_EQ(sql("select count(*) from pillarbox.outbox where message_id = " + id), "1");
    }
  }
  EXPECT_EQ(sql("select count(*) from pillarbox.outbox where job_type = 'b'"), "6");
}

TEST_P(PostgresqlEnqueue, WaitsForATwinThatIsStillOpen) {
  for (const char* level : {"read committed", "repeatable read"}) {
    for (const bool twin_commits : {true, false}) {
      sql("truncate pillarbox.outbox");
      const std::string call =
          std::string("select pillarbox.enqueue('a', '{}', message_id => ") + kId + ")";
      const auto twin = another_session();
      const auto ours = another_session();
      (*twin)("begin");
      run(*twin, call);
      (*ours)("begin isolation level " + std::string(level) + "; select 1");
      const std::string pid = (*ours)("select pg_backend_pid()");
      std::string answer;
      std::thread waiting([&] { answer = run(*ours, call); });
      EXPECT_TRUE(happens([&] {
        return sql("select wait_event_type from pg_stat_activity where pid = " + pid) == "Lock";
      }));
      (*twin)(twin_commits ? "commit" : "rollback");
      waiting.join();
      EXPECT_EQ("'" + answer + "'", kId);
      (*ours)("commit");
      EXPECT_EQ(count(), "1") << level << twin_commits;
    }
  }
}

TEST_P(PostgresqlEnqueue, InASavepointThatIsRolledBackWasNeverThere) {
  sql("begin; savepoint a; select pillarbox.enqueue('lost', '{}'); rollback to a; select "
      "pillarbox.enqueue('kept', '{}'); commit");
  EXPECT_EQ(sql("select string_agg(job_type, ',') from pillarbox.outbox"), "kept");
}

TEST_P(PostgresqlEnqueue, ThatWasRefusedInASavepointLeavesTheTransactionUsable) {
  sql("begin; savepoint a");
  EXPECT_EQ(state_of("select pillarbox.enqueue('', '{}')"), "PB001");
  sql("rollback to a; select pillarbox.enqueue('kept', '{}'); commit");
  EXPECT_EQ(count(), "1");
}

TEST_P(PostgresqlEnqueue, TakesNoTransactionNumberForItsChecks) {
  // Each number of a subtransaction costs every snapshot of the server.
  sql("begin; select pillarbox.enqueue('a', '{}')");
  const std::string one =
      sql("select backend_xid from pg_stat_activity where pid = pg_backend_pid()");
  sql("select pillarbox.enqueue_many(array['a', 'b', 'c'], array['{}', '{}', '{}'])");
  EXPECT_EQ(sql("select xmin::text || (count(*) = 4) from pillarbox.outbox group by xmin"),
            one + "true");
  sql("commit");
}

TEST_P(PostgresqlEnqueue, WithAKeyMakesAnotherProducerOfThatKeyWaitAndNoOther) {
  const auto first = another_session();
  const auto second = another_session();
  (*first)("begin");
  run(*first, "select pillarbox.enqueue('a', '{}', ordering_key => 'k')");
  run(*second, "select pillarbox.enqueue('a', '{}', ordering_key => 'other')");
  EXPECT_EQ(state_of(*second, "set lock_timeout = '50ms'; select " + schema() +
                                  ".enqueue('a', '{}', ordering_key => 'k')"),
            "55P03");
  (*first)("commit");
  run(*second, "select pillarbox.enqueue('a', '{}', ordering_key => 'k')");
  EXPECT_EQ(count(), "3");
}

TEST_P(PostgresqlEnqueue, OfManyKeysInAnyOrderCannotDeadlock) {
  std::vector<std::thread> producers;
  std::vector<int> done(2);
  for (int p = 0; p < 2; ++p) {
    producers.emplace_back([&, p] {
      const auto session = another_session();
      for (int i = 0; i < 50; ++i) {
        run(*session, p == 0 ? "select pillarbox.enqueue_many(array['a', 'a'], array['1', '2'], "
                               "ordering_keys => array['x', 'y'])"
                             : "select pillarbox.enqueue_many(array['a', 'a'], array['1', '2'], "
                               "ordering_keys => array['y', 'x'])");
        ++done[static_cast<std::size_t>(p)];
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(done, (std::vector<int>{50, 50}));
}

TEST_P(PostgresqlEnqueue, DoesNotDependOnTheCallersSearchPathOrSettings) {
  const auto session = another_session();
  (*session)(
      "create schema if not exists evil; create or replace function evil.char_length(text) returns "
      "int language sql as 'select 1 / 0'; set search_path = evil, pg_catalog; set "
      "timezone = '+14'; set standard_conforming_strings = off; set bytea_output = 'escape'");
  EXPECT_EQ(run(*session, "select pillarbox.enqueue('a', '{}')").size(), 36U);
  EXPECT_EQ(sql("select abs(extract(epoch from now() - occurred_at)) < 60 from pillarbox.outbox"),
            "t");
}

TEST_P(PostgresqlEnqueue, OfTheLibraryLeavesTheTransactionUsableAfterARefusal) {
  const auto session = another_session();
  (*session)("begin");
  NewMessage bad;
  bad.job_type = std::string("a\0b", 3);
  EXPECT_THROW(static_cast<void>(postgresql::enqueue(session->raw(), bad, schema())), Error);
  NewMessage good;
  good.job_type = "a.v1";
  const MessageId id = postgresql::enqueue(session->raw(), good, schema());
  EXPECT_THROW(static_cast<void>(postgresql::once(session->raw(), "", id, schema())), Error);
  EXPECT_TRUE(postgresql::once(session->raw(), "mailer", id, schema()));
  EXPECT_FALSE(postgresql::once(session->raw(), "mailer", id, schema()));
  (*session)("commit");
  EXPECT_EQ(sql("select message_id from pillarbox.outbox"), id.to_string());
}

TEST_P(PostgresqlEnqueue, OfManyByTheLibraryKeepsTheirOrder) {
  const auto session = another_session();
  std::vector<NewMessage> messages(3);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].job_type = "a.v" + std::to_string(i);
    messages[i].payload = std::to_string(i);
    messages[i].headers = {{"z", std::to_string(i)}, {"a", "b"}};
    messages[i].ordering_key = i == 1 ? "k" : "";
  }
  messages[2].expires_in = Millis{60'000};
  messages[2].delay = Millis{5'000};
  const auto ids = postgresql::enqueue(session->raw(), messages, schema());
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(
      sql("select string_agg(concat_ws(' ', job_type, convert_from(payload, 'UTF8'), headers, "
          "ordering_key, extract(epoch from available_at - occurred_at)::int, expires_at is "
          "null), ';' order by id) from pillarbox.outbox"),
      "a.v0 0 {\"z\":\"0\",\"a\":\"b\"} 0 t;a.v1 1 {\"z\":\"1\",\"a\":\"b\"} k 0 t;"
      "a.v2 2 {\"z\":\"2\",\"a\":\"b\"} 5 f");
  EXPECT_EQ(sql("select message_id from pillarbox.outbox order by id desc limit 1"),
            ids[2].to_string());
}

INSTANTIATE_TEST_SUITE_P(Own, PostgresqlEnqueue, ::testing::Values("PostgreSQL15", "PostgreSQL18"),
                         server_name);

}  // namespace
}  // namespace pillarbox::testing
