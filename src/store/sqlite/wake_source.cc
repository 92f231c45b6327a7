// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/wake_source.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "pillarbox/error.h"
#include "store/sqlite/location.h"

namespace pillarbox::sqlite {
namespace {

constexpr std::uint32_t kEvents =
    IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::chrono::milliseconds kLookAgain{1};  // while a writer is at work

// Milliseconds until `until`, rounded up, for poll().
int poll_timeout(Instant until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

}  // namespace

SqliteWakeSource::SqliteWakeSource(const StoreOptions& options)
    : path_(parse_location(options.url).path) {
  stop_event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

SqliteWakeSource::~SqliteWakeSource() {
  close_watch();
  if (stop_event_ >= 0) ::close(stop_event_);
}

bool SqliteWakeSource::watch() {
  if (inotify_ >= 0 && connection_ != nullptr && connection_->file_is_still_there()) return true;
  close_watch();
  if (stop_event_ < 0) return false;
  try {
    connection_ = std::make_unique<Connection>(path_, Connection::Options{.cache_kib = 64});
  } catch (const Error&) {
    return false;  // the claims say what is wrong with the file
  }
  // SQLite follows symbolic links and keeps the log beside the real file.
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path_, failed);
  if (failed) return false;
  file_name_ = real.filename();
  const int watcher = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watcher < 0) return false;
  inotify_ = watcher;
  if (::inotify_add_watch(inotify_, real.parent_path().c_str(), kEvents) < 0) {
    close_watch();
    return false;
  }
  return true;
}

void SqliteWakeSource::close_watch() noexcept {
  if (inotify_ >= 0) ::close(inotify_);
  inotify_ = -1;
  connection_.reset();
}

SqliteWakeSource::Seen SqliteWakeSource::drain() noexcept {
  alignas(inotify_event) std::array<char, 8192> buffer{};
  Seen seen = Seen::nothing;
  for (;;) {
    const ssize_t size = ::read(inotify_, buffer.data(), buffer.size());
    if (size <= 0) return seen;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string_view name =
          event.len == 0 ? std::string_view{} : std::string_view(buffer.data() + at + sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) return Seen::deaf;
      const bool ours = name == file_name_ ||
                        (name.starts_with(file_name_) && name.substr(file_name_.size()) == "-wal");
      if (ours || (event.mask & IN_Q_OVERFLOW) != 0) seen = Seen::writing;
    }
  }
}

bool SqliteWakeSource::writers_are_done() {
  connection_->start_call(Millis(0));
  try {
    const Transaction nobody_writes(*connection_, Transaction::Kind::write);
    return true;
  } catch (const Error& error) {
    // Anything but a busy writer: let the claim find out what is wrong.
    return error.kind() != ErrorKind::conflict;
  }
}

WakeSource::Armed SqliteWakeSource::arm() {
  if (!watch()) return Armed::deaf;
  if (drain() == Seen::deaf) {
    close_watch();
    return Armed::deaf;
  }
  // A writer that is at work now may have written all it will: then no event follows, and wait()
  // looks at the lock instead.
  writing_ = !writers_are_done();
  return Armed::exact;
}

bool SqliteWakeSource::wait(Instant until, std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] {
    const std::uint64_t one = 1;
    static_cast<void>(::write(stop_event_, &one, sizeof one));
  });
  bool woken = false;
  while (!stop.stop_requested()) {
    if (writing_ && connection_ != nullptr && writers_are_done()) {
      writing_ = false;
      woken = true;
      break;
    }
    const int left = poll_timeout(until);
    if (left == 0) break;
    std::array<pollfd, 2> ports = {{{stop_event_, POLLIN, 0}, {inotify_, POLLIN, 0}}};
    const int timeout =
        writing_ ? static_cast<int>(std::min<std::int64_t>(left, kLookAgain.count())) : left;
    ::poll(ports.data(), inotify_ < 0 ? 1 : 2, timeout);
    if (inotify_ < 0) continue;
    const Seen seen = drain();
    if (seen == Seen::writing) writing_ = true;
    if (seen == Seen::deaf) {
      close_watch();
      woken = true;  // the directory went away: let the claim look
      break;
    }
  }
  std::uint64_t spent = 0;
  static_cast<void>(::read(stop_event_, &spent, sizeof spent));
  return woken;
}

void SqliteWakeSource::disarm() { writing_ = false; }

}  // namespace pillarbox::sqlite
