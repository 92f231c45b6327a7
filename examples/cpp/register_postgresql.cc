// SPDX-License-Identifier: Apache-2.0
// register_postgresql CONNINFO EMAIL: the same on PostgreSQL, on the application's own libpq
// connection.
#include <libpq-fe.h>
#include <pillarbox/error.h>
#include <pillarbox/postgresql.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

std::string run(PGconn* db, const char* sql, const char* parameter = nullptr) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexecParams(db, sql, parameter == nullptr ? 0 : 1, nullptr, &parameter, nullptr, nullptr, 0),
      &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    throw std::runtime_error(PQerrorMessage(db));
  return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

pillarbox::MessageId register_account(PGconn* db, const char* email) {
  run(db, "begin");
  try {
    const std::string account_id =
        run(db, "insert into account (email) values ($1) returning id", email);
    pillarbox::NewMessage message;
    message.job_type = "email.welcome.v1";
    message.payload = "{\"account_id\": " + account_id + "}";
    message.correlation_id = account_id;
    const pillarbox::MessageId id = pillarbox::postgresql::enqueue(db, message);
    run(db, "commit");  // both are there now, or neither
    return id;
  } catch (...) {
    run(db, "rollback");
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: register_postgresql CONNINFO EMAIL\n", stderr);
    return 2;
  }
  const std::unique_ptr<PGconn, decltype(&PQfinish)> db(PQconnectdb(argv[1]), &PQfinish);
  try {
    if (PQstatus(db.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(db.get()));
    run(db.get(),
        "create table if not exists account (id bigint generated always as identity, email text "
        "unique)");
    std::puts(register_account(db.get(), argv[2]).to_string().c_str());
    return 0;
  } catch (const pillarbox::Error& error) {
    std::fprintf(stderr, "%s %s\n", std::string(error.code()).c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
