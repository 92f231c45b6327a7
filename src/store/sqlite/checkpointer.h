// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace pillarbox::sqlite {

class Connection;

// The one that empties the write-ahead log of a database: shared by all sessions of this process,
// which never checkpoint by themselves. It holds the write lock while pages are copied, so nobody
// can write to or reset the log meanwhile: SQLite before 3.51.3 can damage the file when that
// happens. Where readers have kept the log from being reset again and again, it keeps writers out a
// little longer so that the readers run out.
//
// Thread-safe: whoever comes while it works goes on at once.
class Checkpointer {
 public:
  explicit Checkpointer(std::string path);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Told after each commit how long the log is. Never throws: the commit stands, and a log that
  // could not be emptied now is emptied after the next one.
  void after_commit(int wal_pages) noexcept;

  static constexpr int kBeginPages = 4'000;  // 16 MiB

 private:
  void checkpoint(int wal_pages);

  const std::string path_;
  std::atomic_flag busy_;
  std::atomic<int> next_pages_{kBeginPages};
  // Used by the one that set busy_.
  std::unique_ptr<Connection> gate_;
  std::unique_ptr<Connection> copier_;
};

}  // namespace pillarbox::sqlite
