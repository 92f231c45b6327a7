// SPDX-License-Identifier: Apache-2.0
// The SQL as a contract: what a plain INSERT from any language may rely on.
#include "store/sqlite/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sql/embedded.h"
#include "store/sqlite/test_outbox.h"

namespace pillarbox::sqlite {
namespace {

using ::testing::Test;

class SqliteSchemaTest : public OutboxTest {
 protected:
  std::string refusal(const std::string& columns, const std::string& values) {
    return shell_.refusal("insert into pillarbox_outbox (" + columns + ") values (" + values + ")");
  }
  Shell shell_{file()};
};

TEST_F(SqliteSchemaTest, RefusesABadRowWithASentence) {
  struct Row {
    const char* columns;
    const char* values;
    const char* sentence;
  };
  const Row rows[] = {
      {"job_type, payload", "'', '1'", "job_type must be 1 to 200 characters"},
      {"job_type, payload", "printf('%.*c', 201, 'x'), '1'",
       "job_type must be 1 to 200 characters"},
      {"job_type, payload", "'a' || char(10) || 'b', '1'", "without control characters"},
      {"job_type, payload", "'a' || char(0) || 'b', '1'", "without control characters"},
      {"job_type, payload", "'a.v1', '{'", "payload must be JSON, as its content_type says"},
      {"job_type, payload", "'a.v1', ''", "payload must be JSON, as its content_type says"},
      {"job_type, payload", "'a.v1', '1' || char(0)",
       "payload must be JSON, as its content_type says"},
      {"job_type, payload", "'a.v1', null", "NOT NULL constraint failed: pillarbox_outbox.payload"},
      {"job_type, payload", "'a.v1', 5", "payload must be text or blob"},
      {"job_type, payload, content_type", "'a.v1', '{', 'application/cloudevents+json'",
       "payload must be JSON, as its content_type says"},
      {"job_type, payload, content_type", "'a.v1', '1', ''", "content_type must be 1 to 100"},
      {"job_type, payload, content_type", "'a.v1', zeroblob(16777217), 'application/octet-stream'",
       "at most 16 MiB"},
      {"job_type, payload, headers", "'a.v1', '1', '[]'",
       "headers must be a JSON object of strings"},
      {"job_type, payload, headers", "'a.v1', '1', '{\"a\": 1}'",
       "headers must be a JSON object of strings"},
      {"job_type, payload, headers", "'a.v1', '1', '{\"a\": {}}'",
       "headers must be a JSON object of strings"},
      {"job_type, payload, headers", "'a.v1', '1', 'x'",
       "headers must be a JSON object of strings"},
      {"job_type, payload, headers", "'a.v1', '1', json_object('a', printf('%.*c', 32768, 'x'))",
       "at most 32 KiB"},
      {"job_type, payload, ordering_key", "'a.v1', '1', ''", "ordering_key must be 1 to 200"},
      {"job_type, payload, ordering_key", "'a.v1', '1', printf('%.*c', 201, 'x')",
       "ordering_key must be 1 to 200"},
      {"job_type, payload, correlation_id", "'a.v1', '1', printf('%.*c', 65, 'x')",
       "correlation_id must be 1 to 64"},
      {"job_type, payload, message_id", "'a.v1', '1', 'no-uuid'",
       "message_id must be a UUID in lower case"},
      {"job_type, payload, message_id", "'a.v1', '1', '0190B0A2-7C11-7D3E-9A51-3F0F0C0E7A01'",
       "message_id must be a UUID in lower case"},
      {"job_type, payload, status", "'a.v1', '1', 4", "status must be 0 (pending)"},
      {"job_type, payload, status", "'a.v1', '1', 1",
       "a claimed message has claimed_by and locked_until"},
  };
  for (const Row& row : rows) {
    const std::string got = refusal(row.columns, row.values);
    EXPECT_NE(got.find(row.sentence), std::string::npos) << row.values << ": " << got;
  }
  EXPECT_EQ(shell_.one("select count(*) from pillarbox_outbox"), "0");
}

TEST_F(SqliteSchemaTest, TakesWhatIsJustAllowed) {
  EXPECT_EQ(refusal("job_type, payload", "printf('%.*c', 200, 'x'), '1'"), "");
  EXPECT_EQ(refusal("job_type, payload, content_type", "'a.v1', '{', 'text/plain'"), "");
  EXPECT_EQ(
      refusal("job_type, payload, content_type", "'a.v1', x'00ff', 'application/octet-stream'"),
      "");
  EXPECT_EQ(refusal("job_type, payload", "'a.v1', x'7b7d'"), "");
  EXPECT_EQ(refusal("job_type, payload, headers", "'a.v1', '1', '{\"a\": \"1\", \"b\": \"\"}'"),
            "");
  EXPECT_EQ(refusal("job_type, payload, correlation_id", "'a.v1', '1', printf('%.*c', 64, 'x')"),
            "");
}

// A refused row undoes itself and nothing else of the caller's transaction.
TEST_F(SqliteSchemaTest, LeavesTheCallersTransactionUsableAfterARefusal) {
  shell_.rows("begin; insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  EXPECT_NE(refusal("job_type, payload, headers", "'b.v1', '1', '{\"a\": 1}'"), "");
  EXPECT_NE(refusal("job_type, payload", "'', '1'"), "");
  shell_.rows("insert into pillarbox_outbox (job_type, payload) values ('c.v1', '1'); commit");
  EXPECT_EQ(shell_.one("select group_concat(job_type) from pillarbox_outbox"), "a.v1,c.v1");
}

TEST_F(SqliteSchemaTest, MakesAnIdOfVersionSevenAndTimesOfTheDatabase) {
  shell_.rows("insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1')");
  const std::string id = shell_.one("select message_id from pillarbox_outbox");
  ASSERT_TRUE(MessageId::parse(id)) << id;
  EXPECT_EQ(id[14], '7');
  EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
  EXPECT_EQ(shell_.one("select occurred_at = available_at and abs(occurred_at - strftime('%s', "
                       "'now') * 1000) < 60000 "
                       "from pillarbox_outbox"),
            "1");
  const std::string shown =
      shell_.one("select status || ' ' || occurred_at from pillarbox_messages");
  EXPECT_EQ(shown.substr(0, 10), "pending 20") << shown;
  EXPECT_EQ(shown.back(), 'Z');
}

TEST_F(SqliteSchemaTest, ARepeatedMessageIdIsOneMessage) {
  const std::string insert =
      "insert into pillarbox_outbox (message_id, job_type, payload) values "
      "('0190b0a2-7c11-7d3e-9a51-3f0f0c0e7a01', 'a.v1', '1') on conflict (message_id) do nothing";
  shell_.rows(insert);
  shell_.rows(insert);
  EXPECT_EQ(shell_.one("select count(*) from pillarbox_outbox"), "1");
}

// With a reused number, a late settle of the old message would end the new one.
TEST_F(SqliteSchemaTest, NeverGivesANumberTwice) {
  shell_.rows(
      "insert into pillarbox_outbox (job_type, payload) values ('a.v1', '1'), ('b.v1', '1')");
  shell_.rows("delete from pillarbox_outbox");
  shell_.rows("insert into pillarbox_outbox (job_type, payload) values ('c.v1', '1')");
  EXPECT_EQ(shell_.one("select id from pillarbox_outbox"), "3");
}

TEST_F(SqliteSchemaTest, MigratesOnceAndSaysWhatItKnows) {
  int told = 0;
  factory_->schema(options())->up({}, [&](const MigrationStep&) { ++told; });
  EXPECT_EQ(told, 0);
  const SchemaState state = factory_->schema(options())->state();
  EXPECT_EQ(state.version, state.newest_known);
  EXPECT_EQ(state.drift, std::vector<std::string>{});
  for (const MigrationStep& step : factory_->schema(options())->plan()) EXPECT_TRUE(step.applied);
  EXPECT_EQ(shell_.one("pragma journal_mode"), "wal");
}

TEST_F(SqliteSchemaTest, EveryMigrationCanRunTwice) {
  for (const MigrationStep& step : sql::migrations(sql::sqlite_files())) shell_.rows(step.sql);
  EXPECT_EQ(factory_->schema(options())->state().drift, std::vector<std::string>{});
}

TEST_F(SqliteSchemaTest, SaysThatThereIsNoOutboxYet) {
  const StoreOptions nowhere{.url = "sqlite:" + file() + ".new"};
  EXPECT_EQ(factory_->schema(nowhere)->state().version, 0);
  EXPECT_FALSE(factory_->schema(nowhere)->plan().front().applied);
  EXPECT_FALSE(std::filesystem::exists(file() + ".new")) << "looking made a file";
}

TEST_F(SqliteSchemaTest, NamesWhatDrifted) {
  shell_.rows(
      "drop index pillarbox_outbox_pending; create index pillarbox_outbox_mine on pillarbox_outbox "
      "(job_type); "
      "update pillarbox_schema_migration set checksum = 'edited' where number = 1");
  const auto drift = factory_->schema(options())->state().drift;
  ASSERT_EQ(drift.size(), 3U);
  EXPECT_NE(drift[0].find("checksum is edited"), std::string::npos) << drift[0];
  EXPECT_EQ(drift[1], "index pillarbox_outbox_pending is missing");
  EXPECT_EQ(drift[2], "index pillarbox_outbox_mine is not ours but has our prefix");
}

// ---- examples/sql/sqlite/attach_documents.sql

TEST_F(SqliteSchemaTest, TheArticlesExampleAttachesAndEnqueuesTogetherOrNotAtAll) {
  std::ifstream example(PILLARBOX_SOURCE_DIR "/examples/sql/sqlite/attach_documents.sql");
  std::stringstream text;
  text << example.rdbuf();
  shell_.rows(text.str());
  shell_.rows("insert into document_upload (id) values (1), (2), (3)");
  const std::string call =
      "insert into attach_documents (user_id, document_ids, message_id) values "
      "(17, '[1, 2]', '0190b0a2-7c11-7d3e-9a51-3f0f0c0e7a01')";
  EXPECT_EQ(shell_.refusal(call), "");
  EXPECT_EQ(shell_.one("select payload from pillarbox_outbox"),
            "{\"user_id\":17,\"document_ids\":[1,2]}");
  // 2 has an owner, 9 is nowhere: nothing attaches, and there is no message.
  const std::string bad =
      "insert into attach_documents (user_id, document_ids, message_id) values "
      "(18, '[2, 3]', '0190b0a2-7c11-7d3e-9a51-3f0f0c0e7a02')";
  EXPECT_NE(shell_.refusal(bad).find("the documents did not all attach"), std::string::npos);
  EXPECT_EQ(shell_.one("select group_concat(coalesce(user_id, '-')) from document_upload"),
            "17,17,-");
  EXPECT_EQ(shell_.one("select count(*) from pillarbox_outbox"), "1");
}

// ---- pillarbox_enqueue()

TEST_F(SqliteSchemaTest, TheFunctionEnqueuesAndValidates) {
  register_functions(shell_.raw());
  const std::string id =
      shell_.one("select pillarbox_enqueue('a.v1', '{}', 'key', '{\"t\":\"1\"}')");
  EXPECT_TRUE(MessageId::parse(id)) << id;
  EXPECT_EQ(shell_.one("select message_id || ordering_key || headers from pillarbox_outbox"),
            id + "key{\"t\":\"1\"}");
  EXPECT_EQ(shell_.one("select pillarbox_enqueue('a.v1', '{}', null, null, '" + id + "')"), id);
  EXPECT_EQ(shell_.one("select pillarbox_enqueue('a.v1', x'00ff') is not null"), "1");
  EXPECT_EQ(shell_.one("select count(*) from pillarbox_outbox"), "2");
  EXPECT_NE(shell_.refusal("select pillarbox_enqueue('a.v1', '{')").find("PBX-1009"),
            std::string::npos);
  EXPECT_NE(
      shell_.refusal("select pillarbox_enqueue('a.v1', cast(x'22ff22' as text))").find("PBX-1002"),
      std::string::npos);
  EXPECT_NE(shell_.refusal("select pillarbox_enqueue('a.v1', '1', null, '[1]')").find("PBX-1005"),
            std::string::npos);
  EXPECT_NE(
      shell_.refusal("select pillarbox_enqueue('a.v1', '1', null, null, 'x')").find("PBX-1011"),
      std::string::npos);
}

TEST_F(SqliteSchemaTest, TheModuleLoadsIntoAnyProgram) {
  sqlite3_enable_load_extension(shell_.raw(), 1);
  EXPECT_EQ(shell_.refusal("select load_extension('" PILLARBOX_SQLITE_EXTENSION "')"), "");
  shell_.rows("begin; select pillarbox_enqueue('a.v1', '{}'); rollback");
  shell_.rows("begin; select pillarbox_enqueue('b.v1', '{}'); commit");
  EXPECT_EQ(shell_.one("select group_concat(job_type) from pillarbox_outbox"), "b.v1");
}

}  // namespace
}  // namespace pillarbox::sqlite
