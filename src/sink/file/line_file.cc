// SPDX-License-Identifier: Apache-2.0
#include "sink/file/line_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <thread>

#include "sink/file/file_outcome.h"
#include "sink/file/json_line.h"

namespace pillarbox::file_sink {
namespace {

using std::chrono::steady_clock;

constexpr off_t kTailBytesMax = off_t{64} * 1024 * 1024;  // no line of ours is longer

// A new name in a folder is durable only once the folder is.
int sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open() || ::fsync(fd.get()) != 0) return errno;
  return 0;
}

int poll_timeout_ms(Instant deadline) {
  const auto left = std::chrono::ceil<Millis>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

int write_stream(int fd, std::string_view text, Instant deadline, std::size_t& written) {
  written = 0;
  while (written < text.size()) {
    pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&waiting, 1, poll_timeout_ms(deadline));
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) {
      if (steady_clock::now() >= deadline) return ETIMEDOUT;
      continue;
    }
    const std::size_t size = std::min<std::size_t>(text.size() - written, PIPE_BUF);
    const ssize_t n = ::write(fd, text.data() + written, size);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR && errno != EAGAIN) {
      return errno;
    }
  }
  return 0;
}

std::optional<Outcome> LineFile::append(std::string_view lines, Instant deadline) {
  for (;;) {
    if (!fd_.is_open()) {
      if (auto bad = open()) return bad;
    }
    if (auto bad = lock(deadline)) return bad;
    if (is_still_at_its_path()) break;
    fd_.reset();  // rotated: go to the new file
  }
  if (is_regular_) {
    if (auto bad = mend_tail()) return bad;
  }
  if (auto bad = write_whole(lines, deadline)) return bad;
  if (!is_regular_) {
    ::flock(fd_.get(), LOCK_UN);
    return std::nullopt;
  }
  // The lock guards the order of writes only: others may write while the disk works for us.
  ::flock(fd_.get(), LOCK_UN);
  if (::fdatasync(fd_.get()) != 0) return failed(errno, "flush to disk");
  return std::nullopt;
}

std::optional<Outcome> LineFile::open() {
  // O_NONBLOCK: a named pipe without a reader must answer, not hang; a regular file ignores it.
  constexpr int kFlags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
  fd_ = Descriptor(::open(path_.c_str(), O_RDWR | kFlags, 0640));
  if (!fd_.is_open()) return failed(errno, "open");
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return failed(errno, "inspect");
  is_regular_ = S_ISREG(status.st_mode);
  if (is_regular_) {
    if (const int error = sync_folder_of(path_)) return failed(error, "flush the folder of");
    return std::nullopt;
  }
  // Opened for reading too, a pipe would have a reader: us.
  fd_ = Descriptor(::open(path_.c_str(), O_WRONLY | kFlags, 0640));
  if (!fd_.is_open()) return failed(errno, "open");
  return std::nullopt;
}

std::optional<Outcome> LineFile::lock(Instant deadline) {
  // flock() knows no time limit, so it is asked again and again. Holders keep it for one write.
  std::chrono::microseconds pause{20};
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed(errno, "lock");
    if (steady_clock::now() >= deadline) {
      return Outcome::unavailable("file_locked", "another process kept " + path_ +
                                                     " locked until the time was over; find it "
                                                     "with lslocks");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds{2'000});
  }
  return std::nullopt;
}

bool LineFile::is_still_at_its_path() const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(fd_.get(), &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

std::optional<Outcome> LineFile::mend_tail() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return failed(errno, "inspect");
  char last = '\n';
  if (status.st_size > 0 && ::pread(fd_.get(), &last, 1, status.st_size - 1) != 1) {
    return failed(errno, "read the end of");
  }
  if (last == '\n') return std::nullopt;

  std::string tail;
  off_t start = status.st_size;
  bool found = false;
  while (!found && start > 0 && status.st_size - start < kTailBytesMax) {
    char block[64 * 1024];
    const off_t size = std::min<off_t>(start, sizeof block);
    start -= size;
    if (::pread(fd_.get(), block, static_cast<std::size_t>(size), start) != size) {
      return failed(errno, "read the end of");
    }
    const std::string_view read(block, static_cast<std::size_t>(size));
    const auto feed = read.rfind('\n');
    found = feed != std::string_view::npos;
    const std::string_view part = found ? read.substr(feed + 1) : read;
    if (found) start += static_cast<off_t>(feed) + 1;
    tail.insert(0, part);
  }
  const bool seen_whole = found || start == 0;
  if (seen_whole && judge_tail(tail) == Tail::cut_away) {
    if (::ftruncate(fd_.get(), start) != 0) return failed(errno, "cut a torn line off");
    return std::nullopt;
  }
  if (::write(fd_.get(), "\n", 1) != 1) return failed(errno, "end the last line of");
  return std::nullopt;
}

std::optional<Outcome> LineFile::write_whole(std::string_view lines, Instant deadline) {
  if (!is_regular_) {
    std::size_t written = 0;
    const std::string text = (is_mid_line_ ? "\n" : "") + std::string(lines);
    const int error = write_stream(fd_.get(), text, deadline, written);
    if (written > 0) is_mid_line_ = text[written - 1] != '\n';
    if (error == 0) return std::nullopt;
    return failed(error, "write to");
  }
  struct stat before {};
  if (::fstat(fd_.get(), &before) != 0) return failed(errno, "inspect");
  std::string_view left = lines;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_.get(), left.data(), left.size());
    if (n >= 0) {
      left.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    // A torn line would be mended by the next writer; cut now, readers never see it.
    if (::ftruncate(fd_.get(), before.st_size) != 0) return failed(error, "write whole lines to");
    return failed(error, "write to");
  }
  return std::nullopt;
}

Outcome LineFile::failed(int error, std::string_view verb) {
  fd_.reset();  // the next try starts afresh, whatever state this one is in
  return outcome_of_errno(error, std::string(verb) + " " + path_);
}

}  // namespace pillarbox::file_sink
