// SPDX-License-Identifier: Apache-2.0
#include "sink/hangfire/job_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pillarbox/error.h"
#include "sink/hangfire/hangfire_sink.h"

namespace pillarbox::hangfire {
namespace {

using ::testing::HasSubstr;

class HangfireMap : public ::testing::Test {
 protected:
  HangfireMap() {
    settings.name = "jobs";
    settings.url = "hangfire+postgresql://u@h/d";
    settings.route = {
        {"job", "Shop.Jobs.IEmailJobs, Shop.Jobs"},
        {"method", "SendVerification"},
        {"parameters", "System.Int64\nSystem.String\nSystem.Threading.CancellationToken, mscorlib"},
        {"args", "/user/id\n/tenant\n= null"}};
    message.message_id = *MessageId::parse("01900000-0000-7000-8000-000000000001");
    message.job_type = "email.verify.v1";
    message.payload = R"({"user": {"id": 12345678901234567890}, "tenant": "Zoë \"x\""})";
  }
  Job job() {
    auto made = job_of(read_map(settings), message);
    if (auto* refused = std::get_if<Outcome>(&made)) {
      ADD_FAILURE() << refused->error;
      return {};
    }
    return std::get<Job>(made);
  }
  std::string refusal_of_message() {
    const auto made = job_of(read_map(settings), message);
    const auto* refused = std::get_if<Outcome>(&made);
    if (refused == nullptr) return "taken";
    EXPECT_EQ(refused->kind, OutcomeKind::permanent);
    EXPECT_EQ(refused->code, "hangfire_mapping");
    EXPECT_THAT(refused->error, HasSubstr("sink \"jobs\""));
    EXPECT_THAT(refused->error, HasSubstr(message.message_id.to_string()));
    return refused->error;
  }
  std::string refusal_of_settings() {
    try {
      static_cast<void>(read_storage(settings));
      static_cast<void>(read_map(settings));
      return "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
      return std::string(error.code()) + " " + error.what();
    }
  }

  SinkSettings settings;
  ClaimedMessage message;
};

TEST_F(HangfireMap, WritesWhatEveryHangfireReads) {
  const Job made = job();
  EXPECT_EQ(made.invocation,
            R"({"Type":"Shop.Jobs.IEmailJobs, Shop.Jobs","Method":"SendVerification",)"
            R"("ParameterTypes":"[\"System.Int64\",\"System.String\",)"
            R"(\"System.Threading.CancellationToken, mscorlib\"]","Arguments":null})");
  // The number as it was written; text as ASCII.
  EXPECT_EQ(made.arguments, R"(["12345678901234567890","\"Zo\u00eb \\\"x\\\"\"",null])");
  EXPECT_EQ(made.parameters, R"({"Pillarbox.MessageId":"\"01900000-0000-7000-8000-000000000001\"",)"
                             R"("Pillarbox.JobType":"\"email.verify.v1\""})");
}

TEST_F(HangfireMap, TakesArgumentsFromEverywhere) {
  settings.route["parameters"] = "A, B\nA, B\nA, B\nA, B\nA, B\nA, B";
  settings.route["args"] =
      "payload\npayload-text\nmessage_id\ncorrelation_id\njob_type\n= {\"a\": [1]}";
  message.payload = R"({"id":7,"note":"a\"b"})";
  message.correlation_id = "order-7";
  EXPECT_EQ(
      job().arguments,
      R"(["{\"id\":7,\"note\":\"a\\\"b\"}","\"{\\\"id\\\":7,\\\"note\\\":\\\"a\\\\\\\"b\\\"}\"",)"
      R"("\"01900000-0000-7000-8000-000000000001\"","\"order-7\"","\"email.verify.v1\"",)"
      R"("{\"a\": [1]}"])");
  message.correlation_id.clear();
  EXPECT_THAT(job().arguments, HasSubstr(",null,"));
  settings.route["parameters"].clear();
  settings.route["args"].clear();
  EXPECT_EQ(job().arguments, "[]");
}

TEST_F(HangfireMap, CarriesQueueCultureAndTrace) {
  settings.route["queue"] = "mail-fast";
  settings.route["culture"] = "de-AT";
  message.correlation_id = "c";
  message.headers = {{"traceparent", "00-ab-cd-01"}, {"other", "x"}};
  const Job made = job();
  EXPECT_THAT(made.invocation, HasSubstr(R"("Queue":"mail-fast"})"));
  EXPECT_THAT(made.parameters, HasSubstr(R"("CurrentCulture":"\"de-AT\"","CurrentUICulture")"));
  EXPECT_THAT(made.parameters, HasSubstr(R"("traceparent":"\"00-ab-cd-01\"")"));
  EXPECT_THAT(made.parameters, HasSubstr(R"("Pillarbox.CorrelationId":"\"c\"")"));
  EXPECT_EQ(made.parameters.find("other"), std::string::npos);
}

TEST_F(HangfireMap, RefusesAMessageThatHasNotWhatTheMethodNeeds) {
  message.payload = R"({"user":{},"tenant":"t"})";
  EXPECT_THAT(refusal_of_message(), HasSubstr("nothing at /user/id, which is argument 1"));
  message.payload = "no JSON";
  EXPECT_THAT(refusal_of_message(), HasSubstr("/user/id"));
  settings.route["args"] = "payload\npayload-text\n= null";
  EXPECT_THAT(refusal_of_message(), HasSubstr("argument 1"));
  message.payload = R"({"a":{"$type":"System.IO.FileInfo"}})";
  EXPECT_THAT(refusal_of_message(), HasSubstr("reject_type_hints"));
  settings.route["reject_type_hints"] = "false";
  EXPECT_EQ(refusal_of_message(), "taken");
}

TEST_F(HangfireMap, RefusesSettingsThatHangfireWouldNotTake) {
  const SinkSettings good = settings;
  EXPECT_EQ(refusal_of_settings(), "taken");
  const struct {
    const char* key;
    const char* value;
    const char* says;
  } kCases[] = {
      {"job", "", "job is missing"},
      {"job", "Shop;Jobs", "no type name"},
      {"method", "", "method is missing"},
      {"method", "Send Mail", "no name"},
      {"parameters", "System.Int64", "args has 3 entries and parameters has 1"},
      {"args", "/a\n/b\nuser", "JSON Pointer"},
      {"args", "/a\n/b\n/c~", "~0"},
      {"args", "/a\n/b\n= en", "not JSON"},
      {"args", "/a\n/b\n=", "not JSON"},
      {"queue", "Mail", "lower-case"},
      {"queue", "", "lower-case"},
      {"culture", "de AT", "en-US"},
  };
  for (const auto& one : kCases) {
    settings = good;
    settings.route[one.key] = one.value;
    const std::string refusal = refusal_of_settings();
    EXPECT_THAT(refusal, HasSubstr("PBX-5002")) << one.key;
    EXPECT_THAT(refusal, HasSubstr(one.says)) << one.key;
  }
  settings = good;
  settings.sink["storage_schema"] = "Hang Fire";
  EXPECT_THAT(refusal_of_settings(), HasSubstr("sink.jobs.storage_schema"));
  settings = good;
  settings.url = "hangfire+postgresql://u@h/d?prepared=maybe";
  EXPECT_THAT(refusal_of_settings(), HasSubstr("PBX-2010"));
}

}  // namespace
}  // namespace pillarbox::hangfire
