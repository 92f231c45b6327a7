// SPDX-License-Identifier: Apache-2.0
// Least privilege: what each role may do, and what it may not.
#include <unistd.h>

#include "tests/conformance/postgresql_test.h"

namespace pillarbox::testing {
namespace {

class PostgresqlRoles : public PostgresqlTest {
 protected:
  void SetUp() override {
    PostgresqlTest::SetUp();
    if (!has_outbox()) return;  // with CI=true a missing server is a failure, not a skip
    outbox().factory().schema(outbox().options())->up({.with_roles = true}, {});
    user_ = "u_" + schema() + "_" + std::to_string(::getpid());
  }
  void TearDown() override {
    if (user_.empty()) return;
    session_.reset();
    sql("drop role if exists " + user_);
  }
  // A login that has this role only.
  Sql& as(const std::string& role) {
    sql("create role " + user_ + " login in role " + role);
    std::string url = outbox().direct_url();
    url.replace(url.find("postgres@"), 9, user_ + "@");
    session_ = std::make_unique<Sql>(url);
    return *session_;
  }
  std::string tried(const std::string& text) {
    std::string here = text;
    for (std::size_t at = 0; (at = here.find("pillarbox.", at)) != std::string::npos;)
      here.replace(at, 9, schema());
    return state_of(*session_, here);
  }

  std::string user_;
  std::unique_ptr<Sql> session_;
};

constexpr const char* kDenied = "42501";

TEST_P(PostgresqlRoles, AProducerMayEnqueueAndNothingElse) {
  sql("select pillarbox.enqueue('a', '{}')");
  as("pillarbox_producer");
  for (const char* allowed :
       {"select pillarbox.enqueue('a', '{}')", "select pillarbox.enqueue('a', '{}'::jsonb)",
        "select pillarbox.enqueue('a', '{}'::bytea)",
        "select pillarbox.enqueue_many(array['a'], array['{}'])",
        "select pillarbox.once('mailer', gen_random_uuid())"})
    EXPECT_EQ(tried(allowed), "") << allowed;
  for (const char* denied :
       {"select from pillarbox.outbox", "select from pillarbox.messages",
        "insert into pillarbox.outbox (message_id, job_type, payload) values (gen_random_uuid(), "
        "'a', '')",
        "update pillarbox.outbox set status = 2", "delete from pillarbox.outbox",
        "select from pillarbox.dead_letter", "insert into pillarbox.brake (scope) values ('all')",
        "delete from pillarbox.inbox", "select pillarbox.wake()", "truncate pillarbox.outbox",
        "create table pillarbox.mine ()", "drop table pillarbox.outbox"})
    EXPECT_EQ(tried(denied), kDenied) << denied;
}

TEST_P(PostgresqlRoles, AViewerMayLookButNotAtPayloads) {
  sql("select pillarbox.enqueue('a', '{}')");
  as("pillarbox_viewer");
  for (const char* allowed : {"select from pillarbox.messages", "select from pillarbox.dead_letter",
                              "select from pillarbox.attempt", "select from pillarbox.brake",
                              "select from pillarbox.relay"})
    EXPECT_EQ(tried(allowed), "") << allowed;
  for (const char* denied :
       {"select payload from pillarbox.outbox", "select pillarbox.enqueue('a', '{}')",
        "update pillarbox.outbox set status = 2", "delete from pillarbox.dead_letter",
        "insert into pillarbox.brake (scope) values ('all')", "select from pillarbox.inbox",
        "delete from pillarbox.relay"})
    EXPECT_EQ(tried(denied), kDenied) << denied;
}

TEST_P(PostgresqlRoles, AViewerMayUseTheProgramToLook) {
  sql("select pillarbox.enqueue('a', '{}')");
  as("pillarbox_viewer");
  StoreOptions options = outbox().options();
  options.url.replace(options.url.find("postgres@"), 9, user_ + "@");
  const auto admin = outbox().factory().connect_admin(options);
  EXPECT_EQ(admin->overview().ready, 1);
  const MessageList list = admin->list({}, {});
  ASSERT_EQ(list.rows.size(), 1U);
  EXPECT_EQ(admin->show(list.rows[0].id, false)->row.job_type, "a");
  EXPECT_EQ(admin->find(list.rows[0].message_id), list.rows[0].id);
  EXPECT_TRUE(admin->dead_letters({}, {}).empty());
  EXPECT_TRUE(admin->dead_groups().empty());
  EXPECT_TRUE(admin->brakes().empty());
  EXPECT_TRUE(admin->relays().empty());
  try {
    static_cast<void>(admin->show(list.rows[0].id, true));
    ADD_FAILURE() << "a viewer saw a payload";
  } catch (const Error& error) {
    EXPECT_EQ(error.native_code(), kDenied);
  }
}

TEST_P(PostgresqlRoles, ARelayMayDoAllItsWorkButNotChangeTheSchema) {
  sql("select pillarbox.enqueue('a', '{}')");
  as("pillarbox_relay");
  StoreOptions options = outbox().options();
  options.url.replace(options.url.find("postgres@"), 9, user_ + "@");
  options.claimed_by = "a:1:b";
  const auto store = outbox().factory().connect(options);
  const auto got = store->claim({}).messages;
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(store->renew(std::vector{got[0].lease}, Millis{60'000}).empty());
  const Settlement dead{.lease = got[0].lease, .kind = SettleKind::dead};
  EXPECT_TRUE(store->settle(std::span(&dead, 1)).empty());
  const auto admin = outbox().factory().connect_admin(options);
  EXPECT_EQ(admin->overview().dead, 1);
  const ActTarget target{got[0].lease.id, got[0].lease.claim_no};
  EXPECT_EQ(admin->replay(std::span(&target, 1), "ada", "").done, 1);
  EXPECT_EQ(admin->brake("all", "ada", ""), 0);
  EXPECT_TRUE(admin->unbrake("all", "ada"));
  EXPECT_FALSE(admin->heartbeat({.claimed_by = "a:1:b", .version = "1", .workers = 1}));
  EXPECT_EQ(admin->list({}, {}).rows.size(), 1U);
  for (const PurgeKind kind :
       {PurgeKind::dispatched, PurgeKind::tombstones, PurgeKind::dead, PurgeKind::inbox})
    EXPECT_EQ(admin->purge(kind, Millis{0}, 10), 0);
  const auto again = store->claim({.sweep = true}).messages;
  ASSERT_EQ(again.size(), 1U);
  const ActTarget held{again[0].lease.id, again[0].lease.claim_no};
  EXPECT_EQ(admin->release(std::span(&held, 1), "ada", "").done, 1);
  EXPECT_EQ(admin->discard(std::span(&held, 1), "ada", "").done, 1);
  EXPECT_FALSE(admin->show(held.id, true)->dead_letters.empty());
  EXPECT_TRUE(admin->ask_to_drain("a:1:b"));
  EXPECT_EQ(admin->relays().size(), 1U);
  admin->say_goodbye("a:1:b");
  const auto source = outbox().factory().wake_source(options);
  EXPECT_EQ(source->arm(), WakeSource::Armed::exact);
  source->disarm();
  for (const Finding& finding : admin->examine())
    EXPECT_NE(finding.level, Finding::Level::error) << finding.text;
  for (const char* denied :
       {"drop table pillarbox.outbox", "alter table pillarbox.outbox add column x int",
        "truncate pillarbox.outbox", "create table pillarbox.mine ()",
        "delete from pillarbox.audit", "update pillarbox.schema_migration set number = 1"})
    EXPECT_EQ(tried(denied), kDenied) << denied;
}

TEST_P(PostgresqlRoles, ThatLackRightsAreToldWhatToGrant) {
  as("pillarbox_viewer");
  StoreOptions options = outbox().options();
  options.url.replace(options.url.find("postgres@"), 9, user_ + "@");
  options.claimed_by = "a:1:b";
  try {
    static_cast<void>(outbox().factory().connect(options)->claim({}));
    ADD_FAILURE() << "a viewer claimed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_EQ(error.code(), "PBX-4007");
    EXPECT_FALSE(error.connection_lost());
    EXPECT_EQ(error.native_code(), kDenied);
  }
}

INSTANTIATE_TEST_SUITE_P(Own, PostgresqlRoles, ::testing::Values("PostgreSQL15", "PostgreSQL18"),
                         server_name);

}  // namespace
}  // namespace pillarbox::testing
