// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "sink/file/factory.h"
#include "sink/handler/factory.h"
#include "sink/null/factory.h"
#include "tests/conformance/sink_json.h"
#include "tests/conformance/sink_params.h"

namespace pillarbox::testing {
namespace {

namespace fs = std::filesystem;

class NullFixture final : public SinkFixture {
 public:
  SinkCapabilities capabilities() const override {
    return null_sink::make_factory()->capabilities();
  }
  std::unique_ptr<Sink> connect() override {
    return null_sink::make_factory()->make({.name = "null", .url = "null:"});
  }
  std::optional<std::vector<ReceivedMessage>> received() override { return std::nullopt; }
  bool stop() override { return false; }
  void start() override {}
  bool refuse_next(std::size_t) override { return false; }
  bool refuse_always(MessageId) override { return false; }
  bool swallow_answers(bool) override { return false; }
  bool hold_answers(bool) override { return false; }
  bool answer_after(Millis) override { return false; }
};

// Stopping it moves the folder away, as a lost mount does. A file system refuses no single message.
class FileFixture final : public SinkFixture {
 public:
  FileFixture() {
    std::string pattern = (fs::temp_directory_path() / "pillarbox-sink-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directory(folder_ / "out");
  }
  ~FileFixture() override { fs::remove_all(folder_); }

  SinkCapabilities capabilities() const override {
    return file_sink::make_factory()->capabilities();
  }
  std::unique_ptr<Sink> connect() override {
    return file_sink::make_factory()->make(
        {.name = "file", .outbox = "shop", .url = "file:" + (folder_ / "out/m.jsonl").string()});
  }
  std::optional<std::vector<ReceivedMessage>> received() override {
    std::vector<ReceivedMessage> out;
    std::ifstream in(folder_ / "out/m.jsonl", std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      const JsonMembers members = json_members(line);
      const std::string bytes = json_get(members, "payload_base64");
      out.push_back({json_string(json_get(members, "message_id")),
                     json_string(json_get(members, "job_type")),
                     bytes.empty() ? json_string(json_get(members, "payload"))
                                   : from_base64(json_string(bytes))});
    }
    return out;
  }
  bool stop() override {
    fs::rename(folder_ / "out", folder_ / "away");
    return true;
  }
  void start() override {
    if (fs::exists(folder_ / "away")) fs::rename(folder_ / "away", folder_ / "out");
  }
  bool refuse_next(std::size_t) override { return false; }
  bool refuse_always(MessageId) override { return false; }
  bool swallow_answers(bool) override { return false; }
  bool hold_answers(bool) override { return false; }
  bool answer_after(Millis) override { return false; }

 private:
  fs::path folder_;
};

class HandlerFixture final : public SinkFixture {
 public:
  SinkCapabilities capabilities() const override {
    return {.durable_acknowledgement = false,
            .message_id_travels = true,
            .keeps_order = true,
            .remote = false};
  }
  std::unique_ptr<Sink> connect() override {
    return handler_sink::make([this](const ClaimedMessage& message) { return handle(message); });
  }
  std::optional<std::vector<ReceivedMessage>> received() override {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  bool stop() override {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    return true;
  }
  void start() override {
    const std::lock_guard lock(mutex_);
    is_stopped_ = false;
  }
  bool refuse_next(std::size_t n) override {
    const std::lock_guard lock(mutex_);
    refusals_ = n;
    return true;
  }
  bool refuse_always(MessageId id) override {
    const std::lock_guard lock(mutex_);
    refused_.insert(id);
    return true;
  }
  bool swallow_answers(bool on) override {
    const std::lock_guard lock(mutex_);
    swallows_ = on;
    return true;
  }
  bool hold_answers(bool on) override {
    const std::lock_guard lock(mutex_);
    holds_ = on;
    released_.notify_all();
    return true;
  }
  bool answer_after(Millis delay) override {
    const std::lock_guard lock(mutex_);
    delay_ = delay;
    return true;
  }
  std::optional<std::size_t> calls_at_once() const override { return 1; }

 private:
  Outcome handle(const ClaimedMessage& message) {
    std::unique_lock lock(mutex_);
    if (is_stopped_) return Outcome::unavailable("stopped", "the handler's service is away");
    if (refused_.contains(message.message_id)) return Outcome::permanent("refused", "not this one");
    if (refusals_ > 0) {
      --refusals_;
      return Outcome::transient("busy", "not now");
    }
    received_.push_back({message.message_id.to_string(), message.job_type, message.payload});
    released_.wait(lock, [this] { return !holds_; });
    if (swallows_) throw std::runtime_error("the answer was lost");
    if (delay_ > Millis{0}) working_.wait_for(lock, delay_);  // nobody ends it earlier
    return Outcome::delivered();
  }

  std::mutex mutex_;  // guards all
  std::vector<ReceivedMessage> received_;
  std::set<MessageId> refused_;
  std::size_t refusals_ = 0;
  bool is_stopped_ = false;
  bool swallows_ = false;
  bool holds_ = false;
  Millis delay_{0};
  std::condition_variable released_;
  std::condition_variable working_;
};

}  // namespace

std::vector<SinkParam> local_sinks() {
  return {{"Null", [] { return std::make_unique<NullFixture>(); }},
          {"File", [] { return std::make_unique<FileFixture>(); }},
          {"Handler", [] { return std::make_unique<HandlerFixture>(); }}};
}

}  // namespace pillarbox::testing
