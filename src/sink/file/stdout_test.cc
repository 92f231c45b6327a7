// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "pillarbox/error.h"
#include "sink/file/descriptor.h"
#include "sink/file/factory.h"

namespace pillarbox::file_sink {
namespace {

using std::chrono::steady_clock;

// Descriptor 1 is something else while it lives.
class Redirected {
 public:
  explicit Redirected(int to) {
    std::fflush(stdout);
    saved_ = Descriptor(::dup(STDOUT_FILENO));
    ::dup2(to, STDOUT_FILENO);
  }
  ~Redirected() { ::dup2(saved_.get(), STDOUT_FILENO); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  Descriptor saved_;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  Descriptor reading;
  Descriptor writing;
};

std::string read_all(int fd) {
  std::string out;
  char block[4096];
  for (ssize_t n = 0; (n = ::read(fd, block, sizeof block)) > 0;) {
    out.append(block, static_cast<std::size_t>(n));
  }
  return out;
}

std::vector<ClaimedMessage> messages(std::size_t count, std::size_t payload_bytes) {
  std::vector<ClaimedMessage> out(count);
  for (ClaimedMessage& m : out) {
    m.job_type = "a.v1";
    m.content_type = "text/plain";
    m.payload = std::string(payload_bytes, 'x');
  }
  return out;
}

std::vector<Outcome> deliver_to(int fd, const std::vector<ClaimedMessage>& batch,
                                steady_clock::duration time) {
  const auto sink = make_factory()->make({.name = "out", .outbox = "shop", .url = "stdout:"});
  std::vector<Outcome> outcomes(batch.size());
  const Redirected redirected(fd);
  sink->deliver(batch, {.timeout = std::chrono::duration_cast<Millis>(time)}, outcomes);
  return outcomes;
}

TEST(StdoutSink, WritesALineForEachMessage) {
  Pipe pipe;
  for (const Outcome& outcome :
       deliver_to(pipe.writing.get(), messages(3, 10), std::chrono::minutes(1))) {
    EXPECT_EQ(outcome.kind, OutcomeKind::delivered) << outcome.error;
  }
  pipe.writing.reset();
  const std::string text = read_all(pipe.reading.get());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_TRUE(text.starts_with("{\"message_id\":\""));
  EXPECT_TRUE(text.ends_with("}\n"));
}

// The reader stands still. What went out whole counts; the half line is ended before more follows.
TEST(StdoutSink, DoesNotWaitForeverForAReaderAndTearsNoLaterLine) {
  Pipe pipe;
  const auto outcomes = deliver_to(pipe.writing.get(), messages(100, 5'000), Millis{50});
  EXPECT_EQ(outcomes.front().kind, OutcomeKind::delivered);
  EXPECT_EQ(outcomes.back().kind, OutcomeKind::unavailable);
  EXPECT_EQ(outcomes.back().code, "file_etimedout");

  std::string text;
  std::jthread reader([&] { text = read_all(pipe.reading.get()); });
  const auto later = deliver_to(pipe.writing.get(), messages(1, 10), std::chrono::minutes(1));
  EXPECT_EQ(later.front().kind, OutcomeKind::delivered);
  pipe.writing.reset();
  reader.join();
  const auto whole = std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) {
    return o.kind == OutcomeKind::delivered;
  });
  std::ptrdiff_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("{\"message_id\":\"") && line.ends_with("}")) ++lines;
    at = end + 1;
  }
  EXPECT_EQ(lines, whole + 1);
}

TEST(StdoutSink, AVanishedReaderIsUnavailable) {
  Pipe pipe;
  pipe.reading.reset();
  const auto outcomes = deliver_to(pipe.writing.get(), messages(2, 10), std::chrono::minutes(1));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, "file_epipe");
}

TEST(StdoutSink, AFullDiskBehindItIsUnavailable) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto outcomes = deliver_to(full.get(), messages(2, 10), std::chrono::minutes(1));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, "file_enospc");
}

TEST(FileSinkFactory, RefusesUrlsThatNameNoFile) {
  const auto factory = make_factory();
  for (const char* url :
       {"file:", "file://", "file:///", "file:/tmp/", "file://host/path", "stdout:x", "stdout:/"}) {
    try {
      factory->check({.name = "out", .url = url});
      ADD_FAILURE() << url;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PBX-5003") << url;
      EXPECT_EQ(e.kind(), ErrorKind::invalid_input);
    }
  }
  for (const char* url : {"file:/tmp/x", "file:x.jsonl", "file:///tmp/x", "stdout:"}) {
    EXPECT_NO_THROW(factory->check({.name = "out", .url = url})) << url;
  }
}

TEST(FileSinkFactory, ProbesWithoutMakingTheFile) {
  const auto factory = make_factory();
  const auto soon = steady_clock::now() + std::chrono::minutes(1);
  const std::string path = "/tmp/pillarbox-probe-" + std::to_string(::getpid());
  EXPECT_THAT(factory->probe({.name = "out", .url = "file:" + path}, soon),
              testing::HasSubstr("can be created"));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_THAT(factory->probe({.name = "out", .url = "file:/dev/null"}, soon),
              testing::HasSubstr("can be appended to"));
  try {
    (void)factory->probe({.name = "out", .url = "file:" + path + "/gone/x"}, soon);
    ADD_FAILURE() << "a missing folder was taken for one that is there";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "PBX-5005");
  }
}

}  // namespace
}  // namespace pillarbox::file_sink
