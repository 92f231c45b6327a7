// SPDX-License-Identifier: Apache-2.0
// The Hangfire sink on real servers, against tables of the shape that Hangfire.PostgreSql makes at
// version 23 of its schema. That a Hangfire server runs the jobs is shown by
// tests/interop/hangfire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "pillarbox/error.h"
#include "sink/hangfire/factory.h"
#include "tests/conformance/postgresql_fixture.h"

namespace pillarbox::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTables = R"(
drop schema if exists hangfire cascade;
drop schema if exists pillarbox_handover cascade;
create schema hangfire;
create table hangfire.schema (version int primary key);
insert into hangfire.schema values (23);
create table hangfire.job (id bigserial primary key, stateid bigint, statename text,
  invocationdata jsonb not null, arguments jsonb not null, createdat timestamptz not null,
  expireat timestamptz, updatecount int not null default 0);
create table hangfire.state (id bigserial primary key,
  jobid bigint not null references hangfire.job on delete cascade, name text not null, reason text,
  createdat timestamptz not null, data jsonb, updatecount int not null default 0);
create table hangfire.jobparameter (id bigserial primary key,
  jobid bigint not null references hangfire.job on delete cascade, name text not null, value text,
  updatecount int not null default 0);
create table hangfire.jobqueue (id bigserial primary key, jobid bigint not null, queue text not null,
  fetchedat timestamptz, updatecount int not null default 0);
create table hangfire.server (id text primary key, data jsonb, lastheartbeat timestamptz not null);
)";

class HangfireStorage : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto server = postgresql_server(GetParam());
    if (!server) GTEST_SKIP() << missing_server(GetParam());
    url_ = database_url(*server, "hangfire");
    session_ = std::make_unique<Sql>(url_);
    sql("set client_min_messages = warning");
    sql(kTables);
    settings.name = "jobs";
    settings.url = "hangfire+" + url_;
    settings.route = {{"job", "Shop.Jobs.IEmailJobs, Shop.Jobs"},
                      {"method", "Send"},
                      {"parameters", "System.Int64"},
                      {"args", "/n"},
                      {"queue", "mail"}};
    sink = factory().make(settings);
  }

  static const SinkFactory& factory() {
    static const std::shared_ptr<const SinkFactory> kFactory = hangfire::make_factory();
    return *kFactory;
  }
  std::string sql(const std::string& text) { return (*session_)(text); }
  static Instant soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

  static std::vector<ClaimedMessage> messages(int first, int count) {
    std::vector<ClaimedMessage> out;
    for (int i = first; i < first + count; ++i) {
      ClaimedMessage message;
      std::array<std::uint8_t, 16> id{};
      id[14] = static_cast<std::uint8_t>(i >> 8);
      id[15] = static_cast<std::uint8_t>(i);
      message.message_id = MessageId(id);
      message.job_type = "email.v1";
      message.payload = "{\"n\":" + std::to_string(i) + "}";
      out.push_back(std::move(message));
    }
    return out;
  }
  static std::vector<Outcome> deliver(Sink& to, const std::vector<ClaimedMessage>& batch,
                                      const DeliveryLimits& limits = {}) {
    std::vector<Outcome> outcomes(batch.size());
    to.deliver(batch, limits, outcomes);
    return outcomes;
  }
  static void expect_all(const std::vector<Outcome>& outcomes, OutcomeKind kind) {
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.kind, kind) << outcome.error;
  }
  std::string jobs() { return sql("select count(*) from hangfire.job"); }

  std::string url_;
  std::unique_ptr<Sql> session_;
  SinkSettings settings;
  std::unique_ptr<Sink> sink;
};

TEST_P(HangfireStorage, MakesNoJobOnceTheBatchsTimeIsOverOrAStopWasAskedFor) {
  expect_all(deliver(*sink, messages(1, 3), {.start_before = std::chrono::steady_clock::now()}),
             OutcomeKind::not_sent);
  std::stop_source stop;
  stop.request_stop();
  expect_all(deliver(*sink, messages(1, 3), {.stop = stop.get_token()}), OutcomeKind::not_sent);
  EXPECT_EQ(jobs(), "0");
  expect_all(deliver(*sink, messages(1, 3)), OutcomeKind::delivered);
}

TEST_P(HangfireStorage, ShowsEachMessageAsAnEnqueuedJobWithAllThatAServerNeeds) {
  expect_all(deliver(*sink, messages(1, 300)), OutcomeKind::delivered);
  EXPECT_EQ(jobs(), "300");
  // What a server joins through: without one of these a job is lost silently.
  EXPECT_EQ(sql("select count(*) from hangfire.job j join hangfire.state s on s.id = j.stateid and "
                "s.jobid = j.id join hangfire.jobqueue q on q.jobid = j.id where j.statename = "
                "'Enqueued' and s.name = 'Enqueued' and q.queue = 'mail' and q.fetchedat is null "
                "and j.expireat is null and s.data ->> 'Queue' = 'mail'"),
            "300");
  EXPECT_EQ(sql("select string_agg(j.arguments ->> 0, ',' order by j.id) from hangfire.job j where "
                "(j.arguments ->> 0)::int <= 5"),
            "1,2,3,4,5");
  EXPECT_EQ(sql("select p.value from hangfire.jobparameter p join hangfire.job j on j.id = p.jobid "
                "where p.name = 'Pillarbox.MessageId' and j.arguments ->> 0 = '7'"),
            "\"00000000-0000-0000-0000-000000000007\"");
  EXPECT_EQ(sql("select count(*) from (select jobid, name from hangfire.jobparameter group by 1, 2 "
                "having count(*) > 1) as doubled"),
            "0");
  EXPECT_EQ(sql("select count(*) from hangfire.state where data ->> 'EnqueuedAt' ~ "
                "'^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{7}Z$' and (data ->> "
                "'EnqueuedAt')::timestamptz between now() - interval '1 minute' and now()"),
            "300");
}

TEST_P(HangfireStorage, MakesNoSecondJobOfARepeatedDelivery) {
  const auto batch = messages(1, 20);
  for (const Outcome& outcome : deliver(*sink, batch)) EXPECT_FALSE(outcome.duplicate_absorbed);
  auto more = batch;
  for (ClaimedMessage& message : messages(21, 5)) more.push_back(std::move(message));
  const auto again = deliver(*factory().make(settings), more);
  expect_all(again, OutcomeKind::delivered);
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].duplicate_absorbed, i < 20);
  EXPECT_EQ(jobs(), "25");
  // A replay is a repeat that somebody wants.
  auto replayed = messages(1, 1);
  replayed[0].life = 1;
  EXPECT_FALSE(deliver(*sink, replayed)[0].duplicate_absorbed);
  EXPECT_EQ(jobs(), "26");
  EXPECT_EQ(sql("select count(*) from pillarbox_handover.handover h join hangfire.job j on "
                "j.id::text = h.engine_job_id where h.sink = 'jobs'"),
            "26");
}

TEST_P(HangfireStorage, MakesOneJobWhenTwoRelaysRaceWithTheSameMessages) {
  const auto batch = messages(1, 400);
  std::vector<std::jthread> relays;
  for (int i = 0; i < 4; ++i) {
    relays.emplace_back([&] {
      const auto own = factory().make(settings);
      for (int round = 0; round < 3; ++round)
        expect_all(deliver(*own, batch), OutcomeKind::delivered);
    });
  }
  relays.clear();
  EXPECT_EQ(jobs(), "400");
}

// One message's value that the server refuses: it stands alone in the end, and the rest go through.
TEST_P(HangfireStorage, RefusesOneMessageAndTakesItsNeighbours) {
  sql("create function hangfire.poison() returns trigger language plpgsql as $$ begin if "
      "new.arguments ->> 0 = '13' then raise sqlstate '22023' using message = 'not this one'; end "
      "if; return new; end $$; create trigger poison before insert on hangfire.job for each row "
      "execute function hangfire.poison()");
  auto batch = messages(1, 40);
  batch[4].payload = "{\"m\":1}";  // nothing at the pointer
  const auto outcomes = deliver(*sink, batch);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool bad = i == 4 || i == 12;
    EXPECT_EQ(outcomes[i].kind, bad ? OutcomeKind::permanent : OutcomeKind::delivered) << i;
  }
  EXPECT_THAT(outcomes[4].error, HasSubstr("nothing at /n"));
  EXPECT_EQ(outcomes[12].code, "hangfire_22023");
  EXPECT_THAT(outcomes[12].error, HasSubstr("not this one"));
  EXPECT_EQ(jobs(), "38");
}

TEST_P(HangfireStorage, IsUnavailableWhileItsTablesAreNotThereAndComesBack) {
  sql("alter schema hangfire rename to elsewhere");
  const auto outcomes = deliver(*sink, messages(1, 3));
  expect_all(outcomes, OutcomeKind::unavailable);
  EXPECT_THAT(outcomes[0].error, HasSubstr("storage_schema"));
  EXPECT_THROW(static_cast<void>(factory().probe(settings, soon())), Error);
  sql("alter schema elsewhere rename to hangfire");
  expect_all(deliver(*sink, messages(1, 3)), OutcomeKind::delivered);
  EXPECT_EQ(jobs(), "3");
}

TEST_P(HangfireStorage, IsUnavailableWithoutRightsAndWithoutAServer) {
  sql("drop role if exists hangfire_stranger; create role hangfire_stranger login");
  SinkSettings stranger = settings;
  stranger.url.replace(stranger.url.find("postgres@"), 9, "hangfire_stranger@");
  const auto refused = deliver(*factory().make(stranger), messages(1, 2));
  expect_all(refused, OutcomeKind::unavailable);
  EXPECT_EQ(refused[0].code, "hangfire_42501") << refused[0].error;
  sql("drop role hangfire_stranger");
  SinkSettings nowhere = settings;
  nowhere.url = "hangfire+postgresql://postgres@127.0.0.1:1/x";
  expect_all(deliver(*factory().make(nowhere), messages(1, 2)), OutcomeKind::unavailable);
}

TEST_P(HangfireStorage, GoesOnAfterItsConnectionWasCut) {
  expect_all(deliver(*sink, messages(1, 1)), OutcomeKind::delivered);
  sql("select count(pg_terminate_backend(pid, 30000)) from pg_stat_activity where "
      "application_name = 'pillarbox hangfire' and datname = current_database()");
  expect_all(deliver(*sink, messages(2, 1)), OutcomeKind::delivered);
  EXPECT_EQ(jobs(), "2");
}

TEST_P(HangfireStorage, WakesServersOnceForEachBatch) {
  Sql listener(url_);
  listener("listen new_job");
  const auto heard = [&] {
    listener("select 1");
    int count = 0;
    for (PGnotify* n = PQnotifies(listener.raw()); n != nullptr; n = PQnotifies(listener.raw())) {
      PQfreemem(n);
      ++count;
    }
    return count;
  };
  expect_all(deliver(*sink, messages(1, 50)), OutcomeKind::delivered);
  EXPECT_EQ(heard(), 1);
  settings.sink["notify"] = "false";
  expect_all(deliver(*factory().make(settings), messages(51, 50)), OutcomeKind::delivered);
  EXPECT_EQ(heard(), 0);
}

TEST_P(HangfireStorage, TellsItsVersionAndWhoListens) {
  EXPECT_THAT(factory().probe(settings, soon()), HasSubstr("version 23, but no server listens"));
  sql("insert into hangfire.server values ('a', '{\"WorkerCount\":1,\"Queues\":[\"mail\"]}', "
      "now()), "
      "('b', '{\"Queues\":[\"default\"]}', now()), ('c', '{\"Queues\":[\"mail\"]}', now() - "
      "interval "
      "'6 minutes')");
  EXPECT_THAT(factory().probe(settings, soon()), HasSubstr("1 servers listen on queue \"mail\""));
  sql("update hangfire.schema set version = 24");
  EXPECT_THAT(factory().probe(settings, soon()), HasSubstr("tried are 20 to 23"));
}

INSTANTIATE_TEST_SUITE_P(Own, HangfireStorage, ::testing::Values("PostgreSQL15", "PostgreSQL18"),
                         [](const auto& server) { return std::string(server.param); });

}  // namespace
}  // namespace pillarbox::testing
