// SPDX-License-Identifier: Apache-2.0
#include "sink/file/factory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "core/assert.h"
#include "pillarbox/error.h"
#include "sink/file/file_outcome.h"
#include "sink/file/json_line.h"
#include "sink/file/line_file.h"
#include "sink/sigpipe.h"

namespace pillarbox::file_sink {
namespace {

constexpr std::string_view kSchemes[] = {"file", "stdout"};
constexpr std::string_view kStdout = "stdout:";
constexpr std::size_t kLinesBytesKept = std::size_t{1024} * 1024;  // between batches

using std::chrono::steady_clock;

void fill_not_sent(std::span<Outcome> outcomes) {
  std::fill(outcomes.begin(), outcomes.end(),
            Outcome::not_sent("the time for this batch was over before it was written"));
}

class FileSink final : public Sink {
 public:
  FileSink(std::string path, std::string outbox)
      : file_(std::move(path)), outbox_(std::move(outbox)) {}

  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override {
    PILLARBOX_ASSERT(batch.size() == outcomes.size());
    if (batch.empty()) return;
    if (!limits.may_start()) return fill_not_sent(outcomes);
    lines_.clear();
    if (lines_.capacity() > kLinesBytesKept) lines_.shrink_to_fit();
    for (const ClaimedMessage& message : batch) append_line(lines_, message, outbox_);
    const sink::SigpipeGuard guard;
    const auto bad = file_.append(lines_, steady_clock::now() + limits.timeout);
    std::fill(outcomes.begin(), outcomes.end(), bad ? *bad : Outcome::delivered());
  }

 private:
  LineFile file_;
  const std::string outbox_;
  std::string lines_;
};

// Standard output belongs to the process, so its sinks take turns.
class StandardOutput {
 public:
  bool take(Instant deadline) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_until(lock, deadline, [this] { return !is_taken_; })) return false;
    is_taken_ = true;
    return true;
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      is_taken_ = false;
    }
    freed_.notify_one();
  }

  bool is_mid_line = false;  // whose turn it is: a deadline passed while a line was half out

 private:
  std::mutex mutex_;  // guards is_taken_
  std::condition_variable freed_;
  bool is_taken_ = false;
};

StandardOutput& standard_output() {
  static StandardOutput output;
  return output;
}

struct GiveBack {
  void operator()(StandardOutput* output) const { output->give_back(); }
};
using Turn = std::unique_ptr<StandardOutput, GiveBack>;

class StdoutSink final : public Sink {
 public:
  explicit StdoutSink(std::string outbox) : outbox_(std::move(outbox)) {}

  void deliver(std::span<const ClaimedMessage> batch, const DeliveryLimits& limits,
               std::span<Outcome> outcomes) override {
    PILLARBOX_ASSERT(batch.size() == outcomes.size());
    StandardOutput& output = standard_output();
    if (!output.take(std::min(limits.start_before, steady_clock::now() + limits.timeout)))
      return fill_not_sent(outcomes);
    const Turn turn(&output);
    if (!limits.may_start()) return fill_not_sent(outcomes);
    const Instant deadline = steady_clock::now() + limits.timeout;
    lines_.assign(output.is_mid_line ? "\n" : "");
    ends_.clear();
    for (const ClaimedMessage& message : batch) {
      append_line(lines_, message, outbox_);
      ends_.push_back(lines_.size());
    }
    const sink::SigpipeGuard guard;
    std::size_t written = 0;
    int error = write_stream(STDOUT_FILENO, lines_, deadline, written);
    if (written > 0) output.is_mid_line = lines_[written - 1] != '\n';
    // Where it is redirected to a file, this is the acknowledgement; elsewhere it says EINVAL.
    const bool is_flushed = ::fdatasync(STDOUT_FILENO) == 0 || errno == EINVAL || errno == EROFS;
    if (!is_flushed) {
      error = errno;
      written = 0;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (ends_[i] <= written) {
        outcomes[i] = Outcome::delivered();
      } else {
        outcomes[i] = outcome_of_errno(error, "write to standard output");
      }
    }
  }

 private:
  const std::string outbox_;
  std::string lines_;
  std::vector<std::size_t> ends_;
};

// The path as written: file:PATH, or with an empty host file:///PATH.
std::string path_of(const SinkSettings& settings) {
  std::string_view path = settings.url;
  path.remove_prefix(std::min(path.size(), std::string_view("file:").size()));
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    if (!path.starts_with('/')) path = {};
  }
  if (path.empty() || path.find('\0') != std::string_view::npos || path.ends_with('/')) {
    throw Error(ErrorKind::invalid_input, "PBX-5003",
                "sink \"" + settings.name +
                    "\": a file sink's URL is \"file:\" and a path, such as " +
                    "\"file:/var/lib/shop/messages.jsonl\"");
  }
  return std::string(path);
}

class FileFactory final : public SinkFactory {
 public:
  std::span<const std::string_view> schemes() const override { return kSchemes; }
  SinkCapabilities capabilities() const override {
    return {.durable_acknowledgement = true,
            .message_id_travels = true,
            .keeps_order = true,
            .remote = false};
  }
  std::span<const SinkSetting> settings() const override { return {}; }
  std::string_view acknowledgement() const override {
    return "The batch's lines are appended to the file and flushed to disk (standard output: "
           "handed to whoever reads it).";
  }

  void check(const SinkSettings& settings) const override {
    if (settings.url == kStdout) return;
    if (settings.url.starts_with(kStdout)) {
      throw Error(
          ErrorKind::invalid_input, "PBX-5003",
          "sink \"" + settings.name + "\": standard output takes no address; write \"stdout:\"");
    }
    (void)path_of(settings);
  }

  std::unique_ptr<Sink> make(const SinkSettings& settings) const override {
    check(settings);
    if (settings.url == kStdout) return std::make_unique<StdoutSink>(settings.outbox);
    return std::make_unique<FileSink>(path_of(settings), settings.outbox);
  }

  std::string probe(const SinkSettings& settings, Instant) const override {
    check(settings);
    if (settings.url == kStdout) {
      if (::fcntl(STDOUT_FILENO, F_GETFL) >= 0) return "standard output is open";
      throw Error(ErrorKind::unreachable, "PBX-5005", "standard output is closed; open it");
    }
    const std::string path = path_of(settings);
    const Descriptor there(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
    if (there.is_open()) return path + " can be appended to";
    int error = errno;
    if (error == ENOENT) {
      std::string folder = std::filesystem::path(path).parent_path().string();
      if (folder.empty()) folder = ".";
      if (::access(folder.c_str(), W_OK | X_OK) == 0) {
        return path + " does not exist yet; it can be created";
      }
      error = errno;
    }
    throw Error(ErrorKind::refused, "PBX-5005", outcome_of_errno(error, "open " + path).error,
                {.native_code = std::to_string(error)});
  }
};

}  // namespace

std::shared_ptr<const SinkFactory> make_factory() { return std::make_shared<FileFactory>(); }

}  // namespace pillarbox::file_sink
