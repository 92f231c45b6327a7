// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "pillarbox/sink.h"
#include "sink/file/descriptor.h"

namespace pillarbox::file_sink {

// A file of lines that several threads and processes append to, each through an object of its own.
// A batch is written whole or not at all, under flock(), and is on disk when append() says so.
class LineFile {
 public:
  explicit LineFile(std::string path) : path_(std::move(path)) {}

  // Appends `lines` and waits until they are durable. nullopt: done. Otherwise nothing of them
  // stays in the file, unless the disk failed after taking them. Follows the path when the file was
  // rotated, and first ends or cuts away what a crash left after the last line feed.
  [[nodiscard]] std::optional<Outcome> append(std::string_view lines, Instant deadline);

 private:
  [[nodiscard]] std::optional<Outcome> open();
  [[nodiscard]] std::optional<Outcome> lock(Instant deadline);
  [[nodiscard]] bool is_still_at_its_path() const;
  [[nodiscard]] std::optional<Outcome> mend_tail();
  [[nodiscard]] std::optional<Outcome> write_whole(std::string_view lines, Instant deadline);
  [[nodiscard]] Outcome failed(int error, std::string_view verb);

  const std::string path_;
  Descriptor fd_;
  bool is_regular_ = false;
  bool is_mid_line_ = false;  // of a pipe: a deadline passed while a line was half out
};

// Writes everything to a pipe, terminal or socket, waiting for room until the deadline; `written`
// counts what went. 0 or an errno; ETIMEDOUT when the deadline passed. Never blocks on a descriptor
// in blocking mode: it writes no more than PIPE_BUF at once after poll() has seen room.
[[nodiscard]] int write_stream(int fd, std::string_view text, Instant deadline,
                               std::size_t& written);

}  // namespace pillarbox::file_sink
