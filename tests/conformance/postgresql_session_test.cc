// SPDX-License-Identifier: Apache-2.0
// Sessions that outlive what happens to servers: migrations, roles switched, restarts; and the
// article's business function.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/conformance/postgresql_test.h"

namespace pillarbox::testing {
namespace {

class PostgresqlSession : public PostgresqlTest {
 protected:
  std::unique_ptr<Store> connect(const std::string& url) {
    StoreOptions options = outbox().options();
    options.url = url;
    options.claimed_by = "a:1:b";
    return outbox().factory().connect(options);
  }
};

// PG7: the columns of a table change under prepared statements.
TEST_P(PostgresqlSession, GoOnWhenAMigrationChangesTheTablesUnderTheirPlans) {
  outbox().changes_the_schema();
  const auto store = connect(outbox().options().url);
  fill(30);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(store->claim({.count_max = 1}).messages.size(), 1U);
  // A plan that is kept must not change the types of its result: the server refuses it once.
  sql("drop view pillarbox.messages; alter table pillarbox.outbox add column later text; "
      "alter table pillarbox.outbox alter content_type type varchar(300)");
  std::size_t got = 0;
  for (int i = 0; i < 40; ++i) got += store->claim({.count_max = 1}).messages.size();
  EXPECT_EQ(got, 20U);
}

TEST_P(PostgresqlSession, SayWhenTheSchemaIsMissingOrOfAnotherVersion) {
  outbox().changes_the_schema();
  const auto code_of = [&](const std::string& url) -> std::string {
    try {
      static_cast<void>(connect(url)->claim({}));
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::schema);
      return std::string(error.code());
    }
  };
  EXPECT_EQ(code_of(outbox().direct_url() + "?schema=nowhere"), "PBX-3001");
  sql("insert into pillarbox.schema_migration values (99, 'later', '')");
  EXPECT_EQ(code_of(outbox().options().url), "PBX-3003");
  sql("delete from pillarbox.schema_migration");
  EXPECT_EQ(code_of(outbox().options().url), "PBX-3002");
}

// A statement that waits for a lock ends by itself, at the server too.
TEST_P(PostgresqlSession, EndAStatementThatTakesTooLongAtTheServerToo) {
  StoreOptions options = outbox().options();
  options.claimed_by = "a:1:b";
  options.call_timeout = Millis{2'000};
  const auto store = outbox().factory().connect(options);
  EXPECT_TRUE(store->claim({}).messages.empty());
  const auto blocker = another_session();
  (*blocker)("begin");
  run(*blocker, "lock table pillarbox.outbox in access exclusive mode");
  try {
    static_cast<void>(store->claim({}));
    ADD_FAILURE() << "it did not wait";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timeout);
    EXPECT_EQ(error.code(), "PBX-4002");
  }
  EXPECT_TRUE(happens([&] {
    return sql("select count(*) from pg_stat_activity where application_name = 'pillarbox relay' "
               "and datname = current_database() and wait_event_type = 'Lock'") == "0";
  }));
  (*blocker)("rollback");
  fill(1);
  EXPECT_EQ(store->claim({}).messages.size(), 1U);
}

// Nobody sleeps, nobody is notified; one sleeps, each commit says so.
TEST_P(PostgresqlSession, AreNotifiedOnlyWhileARelaySleeps) {
  const auto listener = another_session();
  (*listener)("listen \"" + schema() + ".wake\"");
  const auto heard = [&] {
    (*listener)("select 1");
    int count = 0;
    for (PGnotify* n = PQnotifies(listener->raw()); n != nullptr; n = PQnotifies(listener->raw())) {
      PQfreemem(n);
      ++count;
    }
    return count;
  };
  sql("select pillarbox.enqueue('a', '{}')");
  EXPECT_EQ(heard(), 0);
  const auto source = outbox().factory().wake_source(outbox().options());
  EXPECT_EQ(source->arm(), WakeSource::Armed::exact);
  sql("select pillarbox.enqueue('a', '{}')");
  EXPECT_EQ(heard(), 1);
  EXPECT_TRUE(source->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30), {}));
  source->disarm();
  sql("select pillarbox.enqueue('a', '{}')");
  EXPECT_EQ(heard(), 0);
  // A producer that began before we slept may commit unheard: we are told so.
  const auto open = another_session();
  (*open)("begin");
  run(*open, "select pillarbox.enqueue('a', '{}')");
  EXPECT_EQ(source->arm(), WakeSource::Armed::racing);
  (*open)("commit");
  EXPECT_EQ(source->arm(), WakeSource::Armed::exact);
}

TEST_P(PostgresqlSession, FindWhatTheMigrationsMadeWithoutDrift) {
  const SchemaState state = outbox().factory().schema(outbox().options())->state();
  EXPECT_EQ(state.version, state.newest_known);
  EXPECT_EQ(state.drift, std::vector<std::string>{});
  outbox().changes_the_schema();
  sql("drop index pillarbox.outbox_due");
  EXPECT_EQ(outbox().factory().schema(outbox().options())->state().drift,
            std::vector<std::string>{"missing: index outbox_due"});
}

// The article's business function: all documents are attached and the message is there, or neither.
TEST_P(PostgresqlSession, OfABusinessFunctionAttachAndEnqueueOrDoNeither) {
  std::stringstream text;
  text << std::ifstream(PILLARBOX_SOURCE_DIR "/examples/sql/attach_documents.sql").rdbuf();
  sql("drop table if exists partner_document; drop function if exists partner_documents_attach");
  sql(text.str());
  sql("insert into partner_document (id) values (1), (2), (3)");
  EXPECT_EQ(state_of("select partner_documents_attach(7, array[1, 2, 9])"), "P0001");
  EXPECT_EQ(sql("select count(*) from partner_document where user_id is not null"), "0");
  EXPECT_EQ(sql("select count(*) from pillarbox.outbox"), "0");
  sql("select partner_documents_attach(7, array[1, 2])");
  EXPECT_EQ(sql("select count(*) from partner_document where user_id = 7"), "2");
  EXPECT_EQ(sql("select convert_from(payload, 'UTF8') from pillarbox.outbox"),
            R"({"user_id": 7, "document_ids": [1, 2]})");
}

INSTANTIATE_TEST_SUITE_P(Own, PostgresqlSession, ::testing::Values("PostgreSQL15", "PostgreSQL18"),
                         server_name);

// On a server that tests may stop.
class PostgresqlSpare : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = postgresql_server("Spare");
    const char* services = std::getenv("PILLARBOX_TEST_SERVICES");
    if (!server || services == nullptr) GTEST_SKIP() << missing_server("Spare");
    services_ = services;
    fixture_ = std::make_unique<PostgresqlFixture>(
        PostgresqlFixture::Setup{database_url(*server, "spare")});
  }
  void ask(const std::string& what) {
    ASSERT_EQ(std::system((services_ + " " + what + " >/dev/null 2>&1").c_str()), 0) << what;
  }
  std::string services_;
  std::unique_ptr<PostgresqlFixture> fixture_;
};

TEST_F(PostgresqlSpare, RestartsUnderARunningStore) {
  const auto store = fixture_->connect();
  NewMessage message;
  message.job_type = "a.v1";
  for (int i = 0; i < 3; ++i) fixture_->enqueue(message);
  const auto first = store->claim({.count_max = 1}).messages;
  ASSERT_EQ(first.size(), 1U);
  for (const char* mode : {"fast", "immediate"}) {
    ask(std::string("restart spare ") + mode);
    std::size_t got = 0;
    EXPECT_TRUE(happens([&] {
      try {
        got = store->claim({.count_max = 1}).messages.size();
        return true;
      } catch (const Error& error) {
        EXPECT_TRUE(error.connection_lost()) << error.what();
        return false;
      }
    }));
    EXPECT_EQ(got, 1U) << mode;
  }
  // The lease of before is in the row, not in the session.
  const Settlement done{.lease = first[0].lease, .kind = SettleKind::dispatched};
  EXPECT_TRUE(store->settle(std::span(&done, 1)).empty());
}

// OP1: the roles of two servers are switched while the sockets stay open.
TEST_F(PostgresqlSpare, ThatTurnsReadOnlySendsUsToThePrimary) {
  const auto other = postgresql_server("PostgreSQL15");
  if (!other) GTEST_SKIP() << missing_server("PostgreSQL15");
  const std::string database = fixture_->direct_url().substr(fixture_->direct_url().rfind('/') + 1);
  const std::string other_url = database_url(*other, "spare");
  ASSERT_EQ(other_url.substr(other_url.rfind('/') + 1), database);
  const auto host_of = [](const std::string& url) {
    return url.substr(url.find('@') + 1, url.rfind('/') - url.find('@') - 1);
  };
  StoreOptions options = fixture_->options();
  options.url = "postgresql://postgres@" + host_of(fixture_->direct_url()) + "," +
                host_of(other_url) + "/" + database + "?schema=" + fixture_->schema();
  options.claimed_by = "a:1:b";
  StoreOptions standby = options;
  standby.url = other_url + "?schema=" + fixture_->schema();
  fixture_->factory().schema(standby)->up({}, {});
  NewMessage message;
  message.job_type = "on-the-other.v1";
  fixture_->factory().connect_admin(standby)->enqueue(message);

  const auto store = fixture_->factory().connect(options);
  EXPECT_TRUE(store->claim({}).messages.empty());
  Sql& session = fixture_->session();
  session("alter system set default_transaction_read_only = on");
  session("select pg_reload_conf()");
  std::vector<ClaimedMessage> got;
  const bool found = happens([&] {
    try {
      got = store->claim({.sweep = true}).messages;
      return !got.empty();
    } catch (const Error& error) {
      EXPECT_TRUE(error.connection_lost()) << error.what();
      return false;
    }
  });
  session("set default_transaction_read_only = off");
  session("alter system reset default_transaction_read_only");
  session("select pg_reload_conf()");
  ASSERT_TRUE(found);
  EXPECT_EQ(got[0].job_type, "on-the-other.v1");
}

}  // namespace
}  // namespace pillarbox::testing
