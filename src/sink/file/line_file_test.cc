// SPDX-License-Identifier: Apache-2.0
#include "sink/file/line_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "sink/sigpipe.h"

namespace pillarbox::file_sink {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

class LineFileTest : public testing::Test {
 public:
  LineFileTest() {
    std::string pattern = (fs::temp_directory_path() / "pillarbox-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LineFileTest() override { fs::remove_all(folder_); }

 protected:
  std::string path(const char* name = "out.jsonl") const { return (folder_ / name).string(); }
  static Instant soon() { return steady_clock::now() + std::chrono::seconds(60); }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static void write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path folder_;
};

constexpr std::string_view kTorn = R"({"message_id":"0190)";

TEST_F(LineFileTest, AppendsToWhatIsThere) {
  write(path(), "{\"old\":1}\n");
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  EXPECT_EQ(file.append("{\"new\":2}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"old\":1}\n{\"new\":1}\n{\"new\":2}\n");
}

// A crash left half a line. Glued to the next one it would destroy an acknowledged message.
TEST_F(LineFileTest, CutsATornLineOffBeforeItAppends) {
  write(path(), "{\"old\":1}\n" + std::string(kTorn));
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"old\":1}\n{\"new\":1}\n");
}

TEST_F(LineFileTest, CutsATornLineThatIsLongerThanOneReadingOfTheTail) {
  write(path(), "{\"old\":1}\n" + std::string(kTorn) + std::string(200'000, 'x'));
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"old\":1}\n{\"new\":1}\n");
}

TEST_F(LineFileTest, MendsATornLineThatIsTheWholeFile) {
  write(path(), kTorn);
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"new\":1}\n");
}

TEST_F(LineFileTest, EndsAForeignLastLineAndLosesNothingOfIt) {
  write(path(), "no line feed here");
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "no line feed here\n{\"new\":1}\n");
}

TEST_F(LineFileTest, MendsWhatAnotherWriterTearsWhileItIsOpen) {
  LineFile file(path());
  EXPECT_EQ(file.append("{\"new\":1}\n", soon()), std::nullopt);
  std::ofstream(path(), std::ios::app) << kTorn;
  EXPECT_EQ(file.append("{\"new\":2}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"new\":1}\n{\"new\":2}\n");
}

TEST_F(LineFileTest, FollowsItsPathWhenTheFileIsRotated) {
  LineFile file(path());
  EXPECT_EQ(file.append("{\"n\":1}\n", soon()), std::nullopt);
  fs::rename(path(), path("out.jsonl.1"));
  EXPECT_EQ(file.append("{\"n\":2}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path("out.jsonl.1")), "{\"n\":1}\n");
  EXPECT_EQ(read(path()), "{\"n\":2}\n");
}

// The disk takes half of a batch and is full. Half a batch must not stay: it would be delivered
// again, and its last line is torn.
TEST_F(LineFileTest, LeavesNothingOfABatchThatDidNotFit) {
  LineFile file(path());
  ASSERT_EQ(file.append("{\"n\":1}\n", soon()), std::nullopt);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto bad = file.append(std::string(500, 'x') + "\n", soon());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->kind, OutcomeKind::unavailable);
  EXPECT_EQ(bad->code, "file_efbig");
  EXPECT_EQ(read(path()), "{\"n\":1}\n");
  EXPECT_EQ(file.append("{\"n\":2}\n", soon()), std::nullopt);
  EXPECT_EQ(read(path()), "{\"n\":1}\n{\"n\":2}\n");
}

TEST_F(LineFileTest, SaysThatTheDiskIsFull) {
  LineFile file("/dev/full");
  const auto bad = file.append("{}\n", soon());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->code, "file_enospc");
}

TEST_F(LineFileTest, SaysThatTheFolderIsMissingAndRecoversWhenItIsBack) {
  LineFile file(path("gone/out.jsonl"));
  const auto bad = file.append("{}\n", soon());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->code, "file_enoent");
  fs::create_directory(folder_ / "gone");
  EXPECT_EQ(file.append("{}\n", soon()), std::nullopt);
}

TEST_F(LineFileTest, WaitsForALockNoLongerThanTheDeadline) {
  write(path(), "");
  const Descriptor other(::open(path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  LineFile file(path());
  const auto bad = file.append("{}\n", steady_clock::now() + Millis{20});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->code, "file_locked");
  EXPECT_EQ(read(path()), "");
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_EQ(file.append("{}\n", soon()), std::nullopt);
}

TEST_F(LineFileTest, AnswersWhenANamedPipeHasNoReader) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  LineFile file(path("pipe"));
  const sink::SigpipeGuard guard;
  const auto bad = file.append("{}\n", soon());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->kind, OutcomeKind::unavailable);
}

TEST_F(LineFileTest, StopsWritingToAPipeThatNobodyReadsWhenTheTimeIsOver) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reading(ends[0]);
  const Descriptor writing(ends[1]);
  const std::string much(1'000'000, 'x');
  std::size_t written = 0;
  EXPECT_EQ(write_stream(writing.get(), much, steady_clock::now() + Millis{20}, written),
            ETIMEDOUT);
  EXPECT_GT(written, 0U);
  EXPECT_LT(written, much.size());
}

TEST_F(LineFileTest, AVanishedReaderIsAnErrorAndNotTheEndOfTheProcess) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Descriptor writing(ends[1]);
  std::size_t written = 0;
  const sink::SigpipeGuard guard;
  EXPECT_EQ(write_stream(writing.get(), "{}\n", soon(), written), EPIPE);
}

// Many workers and processes share one file; one of the processes dies again and again in the
// middle of a line. Every line that was acknowledged is there, whole, once.
TEST_F(LineFileTest, ManyThreadsAndDyingProcessesKeepEveryAcknowledgedLineWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 100;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      LineFile file(path());
      for (int i = 0; i < kLines; ++i) {
        const std::string line =
            "{\"message_id\":\"" + std::to_string(t) + "-" + std::to_string(i) + "\"}\n";
        EXPECT_EQ(file.append(line, soon()), std::nullopt);
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {  // what a kill in the middle of write() leaves: the lock is gone, half a line
      const int fd = ::open(path().c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
      while (::flock(fd, LOCK_EX) != 0) {
      }
      char last = '\n';
      const off_t size = ::lseek(fd, 0, SEEK_END);
      if (size > 0 && ::pread(fd, &last, 1, size - 1) != 1) ::_exit(1);
      if (last == '\n' && ::write(fd, kTorn.data(), kTorn.size()) < 0) ::_exit(1);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  threads.clear();
  LineFile file(path());
  ASSERT_EQ(file.append("{\"message_id\":\"last\"}\n", soon()), std::nullopt);

  std::vector<std::string> expected = {"{\"message_id\":\"last\"}"};
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kLines; ++i) {
      expected.push_back("{\"message_id\":\"" + std::to_string(t) + "-" + std::to_string(i) +
                         "\"}");
    }
  }
  std::vector<std::string> lines;
  std::istringstream in(read(path()));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  EXPECT_THAT(lines, testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace pillarbox::file_sink
