// SPDX-License-Identifier: Apache-2.0
// Sessions that outlive what happens to servers: migrations, killed backends, roles switched,
// restarts; and the article's business function.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "tests/conformance/postgresql_test.h"

namespace pillarbox::testing {
namespace {

std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

Settlement dispatched(const Lease& lease) {
  return {.lease = lease, .kind = SettleKind::dispatched};
}

// What somebody may ask of the database of `session` about the relay's sessions there.
constexpr const char* kRelays =
    " from pg_stat_activity where datname = current_database() and application_name like "
    "'pillarbox %'";

class PostgresqlSession : public PostgresqlTest {
 protected:
  std::unique_ptr<Store> connect(const std::string& url) {
    StoreOptions options = outbox().options();
    options.url = url;
    options.claimed_by = "a:1:b";
    return outbox().factory().connect(options);
  }
  std::unique_ptr<Store> connect() { return connect(outbox().options().url); }

  std::string rows() {
    return sql(
        "select string_agg(concat_ws(' ', id, status, claim_no, attempts, locked_until), '|' order "
        "by id) from pillarbox.outbox");
  }

  // Ends the session that runs `work` while it waits for what `holder` holds; the error it met.
  std::optional<Error> killed_in(Sql& holder, const std::function<void()>& work) {
    std::optional<Error> met;
    std::thread working([&] { met = error_of(work); });
    EXPECT_TRUE(happens([&] { return sql("select count(*)" + kWaiting) == "1"; }));
    sql("select count(pg_terminate_backend(pid, 30000))" + kWaiting);
    working.join();
    holder("rollback");
    return met;
  }
  const std::string kWaiting = std::string(kRelays) + " and wait_event_type = 'Lock'";
};

// The backend is ended at each statement of each call of a relay: nothing has happened, the error
// says so, and the next call simply works.
TEST_P(PostgresqlSession, AreKilledAtAnyStatementAndTheNextCallGoesOn) {
  outbox().changes_the_schema();
  // Commits wait for whoever holds lock 4711.
  sql("create function pillarbox.stall() returns trigger language plpgsql as 'begin perform "
      "pg_advisory_xact_lock_shared(4711); return null; end'; create constraint trigger stall "
      "after update on pillarbox.outbox deferrable initially deferred for each row execute "
      "function pillarbox.stall()");
  fill(1);
  const auto store = connect();
  const auto holder = another_session();
  Lease lease;
  const std::function<bool()> claim = [&] {
    const auto got = store->claim({}).messages;
    if (got.size() == 1) lease = got[0].lease;
    return got.size() == 1;
  };
  const std::function<bool()> renew = [&] {
    return store->renew(std::span(&lease, 1), Millis{60'000}).empty();
  };
  const std::function<bool()> settle = [&] {
    const Settlement done = dispatched(lease);
    return store->settle(std::span(&done, 1)).empty();
  };
  const std::string in_statement = "lock table pillarbox.outbox in access exclusive mode";
  const std::string in_commit = "select pg_advisory_xact_lock(4711)";
  const std::string in_settings =
      "select pg_advisory_xact_lock(1886351985, hashtext('pillarbox.brake'))";
  struct Step {
    const char* name;
    const std::function<bool()>& call;
    std::vector<std::string> places;
  };
  for (const Step& step : {Step{"claim", claim, {in_settings, in_statement, in_commit}},
                           Step{"renew", renew, {in_statement, in_commit}},
                           Step{"settle", settle, {in_statement, in_commit}}}) {
    for (const std::string& place : step.places) {
      const std::string before = rows();
      (*holder)("begin");
      run(*holder, place);
      const auto met = killed_in(*holder, [&] { static_cast<void>(step.call()); });
      ASSERT_TRUE(met) << step.name << ": " << place;
      EXPECT_EQ(met->kind(), ErrorKind::unreachable) << met->what();
      EXPECT_EQ(met->code(), "PBX-4001");
      EXPECT_EQ(met->native_code(), "57P01");
      EXPECT_TRUE(met->connection_lost());
      EXPECT_TRUE(met->in_doubt());  // the commit was sent with the rest
      EXPECT_EQ(rows(), before) << step.name << ": " << place;
    }
    EXPECT_TRUE(step.call()) << step.name;
  }
  EXPECT_EQ(sql("select status || ' ' || claim_no || ' ' || attempts from pillarbox.outbox"),
            "2 1 1");
}

// PG6: the listener's backend is ended. We are told, listen anew, and hear again.
TEST_P(PostgresqlSession, ListenAnewAfterTheirListenerWasKilled) {
  const auto source = outbox().factory().wake_source(outbox().options());
  const auto in_a_while = [] { return std::chrono::steady_clock::now() + std::chrono::minutes(1); };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(happens([&] { return source->arm() == WakeSource::Armed::exact; }));
    outbox().break_connections();
    const auto met = error_of([&] { static_cast<void>(source->wait(in_a_while(), {})); });
    ASSERT_TRUE(met);
    EXPECT_TRUE(met->connection_lost());
    EXPECT_TRUE(happens([&] { return source->arm() == WakeSource::Armed::exact; }));
    sql("select pillarbox.enqueue('a', '{}')");
    EXPECT_TRUE(source->wait(in_a_while(), {}));
    source->disarm();
  }
}

// OP1: a server that can only be read is refused by name, and used again once it can be written.
TEST_P(PostgresqlSession, SayThatTheServerIsReadOnlyUntilItIsNot) {
  const auto store = connect();
  fill(1);
  EXPECT_EQ(store->claim({.count_max = 1}).messages.size(), 1U);
  fill(1);
  const std::string database = sql("select current_database()");
  sql("alter database " + database + " set default_transaction_read_only = on");
  outbox().break_connections();
  const auto met = error_of([&] { static_cast<void>(store->claim({})); });
  sql("alter database " + database + " reset default_transaction_read_only");
  ASSERT_TRUE(met);
  EXPECT_EQ(met->kind(), ErrorKind::refused);
  EXPECT_EQ(met->code(), "PBX-4004");
  EXPECT_EQ(met->native_code(), "25006");
  EXPECT_TRUE(met->connection_lost());  // so that the next call looks for a server anew
  EXPECT_EQ(store->claim({}).messages.size(), 1U);
}

// PG7: the columns of a table change under prepared statements.
TEST_P(PostgresqlSession, GoOnWhenAMigrationChangesTheTablesUnderTheirPlans) {
  outbox().changes_the_schema();
  const auto store = connect();
  fill(30);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(store->claim({.count_max = 1}).messages.size(), 1U);
  // The claim returns this column: its prepared statement has another result type from here on.
  const std::string view = sql("select pg_get_viewdef('pillarbox.messages'::regclass)");
  sql("begin; drop view pillarbox.messages; alter table pillarbox.outbox add column later text, "
      "alter correlation_id type varchar(64)");
  outbox().session()("create view " + schema() + ".messages as " + view + "; commit");
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

// On a server that tests may stop, turn into a standby, and promote.
class PostgresqlSpare : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = postgresql_server("Spare");
    const char* services = std::getenv("PILLARBOX_TEST_SERVICES");
    if (!server || services == nullptr) GTEST_SKIP() << missing_server("Spare");
    services_ = services;
    server_ = server->url;
    make_ordinary();
    renew_fixture();
  }
  void TearDown() override {
    if (services_.empty()) return;
    fixture_.reset();
    ask("restart spare");
    make_ordinary();
  }
  // Whatever a test did to it.
  void make_ordinary() {
    Sql session(server_);
    session("select pg_promote() where pg_is_in_recovery()");
    session("alter system reset all");
    session("select pg_reload_conf()");
  }
  void renew_fixture() {
    fixture_ = std::make_unique<PostgresqlFixture>(
        PostgresqlFixture::Setup{database_url({server_, {}}, "spare"), {}});
  }
  void ask(const std::string& what) {
    ASSERT_EQ(std::system((services_ + " " + what + " >/dev/null 2>&1").c_str()), 0) << what;
  }
  void fill(int count) {
    fixture_->sql("select pillarbox.enqueue('a.v1', '{}') from generate_series(1, " +
                  std::to_string(count) + ")");
  }
  void set(const std::string& setting) {
    fixture_->session()("alter system set " + setting);
    fixture_->session()("select pg_reload_conf()");
  }
  // From here on commits are done, and then wait for a standby that never comes. It is so once the
  // checkpointer read its settings again, which it does when it gets to it: so the commits of
  // another session are watched until one waits.
  void hold_commits() {
    set("synchronous_standby_names = 'nobody'");
    const Sql other(server_);
    const std::string its = " from pg_stat_activity where wait_event = 'SyncRep' and pid = " +
                            std::to_string(PQbackendPID(other.raw()));
    ASSERT_TRUE(happens([&] {
      static_cast<void>(PQconsumeInput(other.raw()));
      while (PQisBusy(other.raw()) == 0) {
        if (PGresult* result = PQgetResult(other.raw())) {
          PQclear(result);
        } else if (PQsendQuery(other.raw(), "select pg_logical_emit_message(true, 'test', '')") ==
                   0) {
          return false;
        }
      }
      return fixture_->sql("select count(*)" + its) == "1";
    }));
    fixture_->sql("select pg_terminate_backend(pid, 30000)" + its);
  }
  // The spare and another server in one URL, in this order; the same outbox is on both, and on the
  // other a message waits. Empty when there is no other.
  std::string two_hosts() {
    const auto other = postgresql_server("PostgreSQL15");
    if (!other) return {};
    const auto host_of = [](const std::string& url) {
      return url.substr(url.find('@') + 1, url.rfind('/') - url.find('@') - 1);
    };
    const std::string& direct = fixture_->direct_url();
    StoreOptions options = fixture_->options();
    options.url = database_url(*other, "spare") + "?schema=" + fixture_->schema();
    fixture_->factory().schema(options)->up({}, {});
    Sql(database_url(*other, "spare"))("delete from " + fixture_->schema() + ".outbox");
    NewMessage message;
    message.job_type = "on-the-other.v1";
    fixture_->factory().connect_admin(options)->enqueue(message);
    return "postgresql://postgres@" + host_of(direct) + "," + host_of(other->url) +
           direct.substr(direct.rfind('/')) + "?schema=" + fixture_->schema();
  }
  // What the store claims once it can, on whatever server; the errors before must be such as make
  // it look for a server anew.
  static std::string first_type(Store& store) {
    std::string type;
    EXPECT_TRUE(happens([&] {
      const auto met = error_of([&] {
        const auto got = store.claim({.count_max = 1, .sweep = true}).messages;
        if (!got.empty()) type = got[0].job_type;
      });
      EXPECT_TRUE(!met || met->connection_lost()) << met->what();
      return !type.empty();
    }));
    return type;
  }

  std::string services_;
  std::string server_;
  std::unique_ptr<PostgresqlFixture> fixture_;
};

// DB3: the server is restarted, politely and not, with messages in delivery.
TEST_F(PostgresqlSpare, RestartsUnderARunningStore) {
  const auto store = fixture_->connect();
  fill(3);
  const auto first = store->claim({.count_max = 1}).messages;
  ASSERT_EQ(first.size(), 1U);
  for (const char* mode : {"fast", "immediate"}) {
    ask(std::string("restart spare ") + mode);
    EXPECT_EQ(first_type(*store), "a.v1") << mode;
  }
  // The lease of before is in the row, not in the session.
  const Settlement done = dispatched(first[0].lease);
  EXPECT_TRUE(store->settle(std::span(&done, 1)).empty());
}

// TX2: the backend ends after it committed and before it answered. The relay is told that it cannot
// know, and whatever it does next is right.
TEST_F(PostgresqlSpare, CommitsAndDoesNotSaySo) {
  const auto store = fixture_->connect();
  fill(1);
  EXPECT_EQ(store->claim({.count_max = 1}).messages.size(), 1U);
  fill(1);
  const auto kill_unanswered = [&](const std::function<void()>& work) {
    hold_commits();
    const std::string waiting = std::string(kRelays) + " and wait_event = 'SyncRep'";
    std::optional<Error> met;
    std::thread working([&] { met = error_of(work); });
    EXPECT_TRUE(happens([&] { return fixture_->sql("select count(*)" + waiting) == "1"; }));
    fixture_->sql("select count(pg_terminate_backend(pid, 30000))" + waiting);
    working.join();
    set("synchronous_standby_names = ''");
    return met;
  };
  const auto state = [&] {
    return fixture_->sql("select status || ' ' || claim_no from pillarbox.outbox order by id desc");
  };

  const auto claiming = kill_unanswered([&] { static_cast<void>(store->claim({})); });
  ASSERT_TRUE(claiming);
  EXPECT_TRUE(claiming->in_doubt());
  EXPECT_TRUE(claiming->connection_lost());
  EXPECT_EQ(state(), "1 1");
  EXPECT_TRUE(store->claim({.sweep = true}).messages.empty());
  fixture_->sql(
      "update pillarbox.outbox set locked_until = now() - interval '1 second' where id = "
      "(select max(id) from pillarbox.outbox)");
  const auto got = store->claim({.sweep = true}).messages;
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].reclaimed);

  const Settlement done = dispatched(got[0].lease);
  const auto settling =
      kill_unanswered([&] { static_cast<void>(store->settle(std::span(&done, 1))); });
  ASSERT_TRUE(settling);
  EXPECT_TRUE(settling->in_doubt());
  EXPECT_EQ(state(), "2 2");
  EXPECT_EQ(store->settle(std::span(&done, 1)), std::vector{got[0].lease});  // and changes nothing
  EXPECT_EQ(state(), "2 2");
}

// OP1: the roles of two servers are switched while the sockets stay open.
TEST_F(PostgresqlSpare, ThatTurnsReadOnlySendsUsToThePrimary) {
  const std::string both = two_hosts();
  if (both.empty()) GTEST_SKIP() << missing_server("PostgreSQL15");
  StoreOptions options = fixture_->options();
  options.url = both;
  options.claimed_by = "a:1:b";
  const auto store = fixture_->factory().connect(options);
  fill(1);
  EXPECT_EQ(first_type(*store), "a.v1");
  set("default_transaction_read_only = on");
  EXPECT_EQ(first_type(*store), "on-the-other.v1");
}

TEST_F(PostgresqlSpare, ThatIsDownSendsUsToTheOther) {
  const std::string both = two_hosts();
  if (both.empty()) GTEST_SKIP() << missing_server("PostgreSQL15");
  StoreOptions options = fixture_->options();
  options.url = both;
  options.claimed_by = "a:1:b";
  const auto store = fixture_->factory().connect(options);
  fill(1);
  EXPECT_EQ(first_type(*store), "a.v1");
  ask("halt spare");
  EXPECT_EQ(first_type(*store), "on-the-other.v1");
}

// A standby answers and refuses all writes; promoted, it is used without a restart of ours.
TEST_F(PostgresqlSpare, ThatIsAStandbyIsPassedOverUntilItIsPromoted) {
  const std::string both = two_hosts();
  if (both.empty()) GTEST_SKIP() << missing_server("PostgreSQL15");
  fill(1);
  const std::string data = fixture_->sql("show data_directory");
  fixture_->sql("copy (select 1 where false) to '" + data + "/standby.signal'");
  ask("restart spare");
  StoreOptions options = fixture_->options();
  options.claimed_by = "a:1:b";
  const auto here_only = fixture_->factory().connect(options);
  const auto met = error_of([&] { static_cast<void>(here_only->claim({})); });
  ASSERT_TRUE(met);
  EXPECT_EQ(met->code(), "PBX-4004") << met->what();
  EXPECT_TRUE(met->connection_lost());

  options.url = both;
  options.claimed_by = "c:1:d";
  const auto store = fixture_->factory().connect(options);
  EXPECT_EQ(first_type(*store), "on-the-other.v1");

  Sql{server_}("select pg_promote()");
  EXPECT_EQ(first_type(*here_only), "a.v1");
}

}  // namespace
}  // namespace pillarbox::testing
