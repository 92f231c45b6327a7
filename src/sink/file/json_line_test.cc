// SPDX-License-Identifier: Apache-2.0
#include "sink/file/json_line.h"

#include <gtest/gtest.h>

#include <random>

#include "json/json.h"

namespace pillarbox::file_sink {
namespace {

ClaimedMessage message() {
  ClaimedMessage m;
  m.lease.id = RowId{7};
  m.message_id = *MessageId::parse("01900000-0000-7000-8000-000000000001");
  m.job_type = "email.welcome.v1";
  m.payload = "{\n \"n\": 1e400 }";
  m.content_type = "application/json";
  m.attempts = 2;
  return m;
}

std::string line(const ClaimedMessage& m) {
  std::string out;
  append_line(out, m, "shop");
  return out;
}

TEST(JsonLine, HoldsTheWholeMessageInOneLine) {
  ClaimedMessage m = message();
  m.headers = {{"tenant", "a\"b"}, {"x", "1"}};
  m.correlation_id = "c-1";
  m.ordering_key = "k-1";
  EXPECT_EQ(line(m),
            R"({"message_id":"01900000-0000-7000-8000-000000000001","job_type":"email.welcome.v1",)"
            R"("content_type":"application/json","payload":"{\n \"n\": 1e400 }",)"
            R"("headers":{"tenant":"a\"b","x":"1"},"correlation_id":"c-1","ordering_key":"k-1",)"
            R"("outbox":"shop","occurred_at":"1970-01-01T00:00:00.000Z","id":"7",)"
            R"("attempts":2,"life":0})"
            "\n");
}

TEST(JsonLine, LeavesOutWhatIsAbsent) {
  EXPECT_EQ(line(message()).find("correlation_id"), std::string::npos);
  EXPECT_EQ(line(message()).find("ordering_key"), std::string::npos);
}

TEST(JsonLine, WritesBytesAsBase64) {
  ClaimedMessage m = message();
  m.content_type = "application/octet-stream";
  m.payload = std::string("\0\xFF\n", 3);
  EXPECT_NE(line(m).find(R"("payload_base64":"AP8K")"), std::string::npos);
  m.content_type = "text/plain";  // says text, and is none
  EXPECT_NE(line(m).find(R"("payload_base64":"AP8K")"), std::string::npos);
}

TEST(JsonLine, IsOneLineOfJsonForAnyBytesInAnyField) {
  std::mt19937 random(20261201);
  const auto text = [&] {
    std::string out(random() % 24, ' ');
    for (char& c : out) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 64);
    return out;
  };
  for (int round = 0; round < 2'000; ++round) {
    ClaimedMessage m = message();
    m.payload = text();
    m.job_type = text();
    m.content_type = round % 2 == 0 ? text() : "text/plain";
    m.headers = {{text(), text()}, {"b", text()}};
    m.correlation_id = text();
    const std::string out = line(m);
    EXPECT_EQ(out.find('\n'), out.size() - 1);
    EXPECT_TRUE(json::is_valid(out)) << out;
    EXPECT_TRUE(out.starts_with(kLineStart));
    const std::string_view tail = std::string_view(out).substr(0, random() % (out.size() - 1));
    EXPECT_EQ(judge_tail(tail), Tail::cut_away) << tail;
  }
}

// A crash can cut a line anywhere. The cut piece must never be taken for a line, nor may a line be
// lost that was whole.
TEST(JsonLine, JudgesEveryCutOfALine) {
  ClaimedMessage m = message();
  m.payload = R"({"a":{"b":"}\"}"}})";
  m.headers = {{"h", "}"}};
  const std::string whole = line(m);
  for (std::size_t size = 1; size + 1 < whole.size(); ++size) {
    EXPECT_EQ(judge_tail(whole.substr(0, size)), Tail::cut_away) << whole.substr(0, size);
  }
  EXPECT_EQ(judge_tail(whole.substr(0, whole.size() - 1)), Tail::keep);
}

TEST(JsonLine, CutsAwayTheZerosThatAPowerCutLeaves) {
  EXPECT_EQ(judge_tail(std::string(4096, '\0')), Tail::cut_away);
  EXPECT_EQ(judge_tail(line(message()).substr(0, 50) + std::string(100, '\0')), Tail::cut_away);
}

TEST(JsonLine, KeepsWhatIsNotOurs) {
  EXPECT_EQ(judge_tail("root:x:0:0:root:/root:/bin/bash"), Tail::keep);
  EXPECT_EQ(judge_tail(R"({"other":"json")"), Tail::keep);
}

}  // namespace
}  // namespace pillarbox::file_sink
