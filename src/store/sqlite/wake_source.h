// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "pillarbox/store.h"
#include "store/sqlite/connection.h"

namespace pillarbox::sqlite {

// Wakes when the write-ahead log grows, as the kernel tells of it (inotify). The log is written
// before a commit can be seen, so a wake-up is only passed on when the write lock has been free
// once: then what was written is committed or gone.
class SqliteWakeSource final : public WakeSource {
 public:
  explicit SqliteWakeSource(const StoreOptions& options);
  ~SqliteWakeSource() override;
  SqliteWakeSource(const SqliteWakeSource&) = delete;
  SqliteWakeSource& operator=(const SqliteWakeSource&) = delete;

  [[nodiscard]] Armed arm() override;
  [[nodiscard]] bool wait(Instant until, std::stop_token stop) override;
  void disarm() override;

 private:
  bool watch();
  void close_watch() noexcept;
  enum class Seen { nothing, writing, deaf };
  Seen drain() noexcept;
  bool writers_are_done();

  const std::string path_;
  std::string file_name_;
  std::unique_ptr<Connection> connection_;
  int inotify_ = -1;
  int stop_event_ = -1;
  bool writing_ = false;  // the log was written to, and the writer may not have committed yet
};

}  // namespace pillarbox::sqlite
