// SPDX-License-Identifier: Apache-2.0
// demo: the life of a message, told on a real SQLite outbox with a real relay in this process.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

#include "cli/actions.h"
#include "pillarbox/relay.h"
#include "store/registry.h"

namespace pillarbox::cli {
namespace {

// A folder that goes with the demo.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(bool keep) : keep_(keep) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pillarbox-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorKind::refused, "PBX-6005",
                  "cannot make a temporary folder in " + pattern + "; set TMPDIR");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // what cannot be removed is left for the system's own cleaning
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  bool keep_;
  std::filesystem::path path_;
};

void told(const std::string& line) { write_out(line + "\n"); }

// For what the relay does between two looks: a message that waits for its retry is not due, so the
// relay counts as idle then.
void wait_until(const std::function<bool()>& holds, const char* what) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until)
      throw Error(ErrorKind::timeout, "PBX-6006",
                  std::string("the demo waited in vain for ") + what);
    std::this_thread::sleep_for(Millis{10});
  }
}

void wait(Relay& relay, const char* what) {
  if (!relay.wait_until_idle(Millis{30'000})) {
    throw Error(ErrorKind::timeout, "PBX-6006",
                std::string("the demo did not come to rest: ") + what);
  }
}

}  // namespace

int demo(Context&, const Arguments& arguments) {
  const TemporaryFolder folder(arguments.has("keep"));
  const std::string url = "sqlite:" + (folder.path() / "demo.db").string();
  const StoreFactory& factory = store_factory_for(url);
  StoreOptions options;
  options.url = url;
  factory.schema(options)->up({}, {});
  const auto admin = factory.connect_admin(options);
  told("An outbox in " + url);

  std::atomic<int> delivered{0};
  std::atomic<bool> sink_is_up{true};
  const Handler handler = [&](const ClaimedMessage& message) -> Outcome {
    if (!sink_is_up) return Outcome::unavailable("down", "the mail provider is down");
    if (message.job_type == "email.broken.v1")
      return Outcome::transient("template", "template has a syntax error");
    ++delivered;
    return Outcome::delivered();
  };
  RelaySettings settings;
  settings.outboxes = {OutboxSettings{"demo", options}};
  settings.routes = {RouteSettings{.name = "mail", .type = "email.*", .sink = "handler:mail"}};
  settings.retry = RetryPolicy{.max_attempts = 3, .base = Millis{20}, .cap = Millis{100}};
  settings.poll_interval = Millis{100};
  Relay relay(settings, {{"mail", handler}});
  relay.start();

  for (int i = 0; i < 100; ++i) {
    admin->enqueue(
        {.job_type = "email.welcome.v1", .payload = "{\"user\":" + std::to_string(i) + "}"});
  }
  wait(relay, "100 messages");
  told("1. 100 messages enqueued, " + std::to_string(delivered) + " delivered.");

  admin->enqueue({.job_type = "email.broken.v1", .payload = "{\"user\":7}"});
  Filter dead;
  dead.statuses = {Status::dead};
  MessageList letters;
  wait_until(
      [&] {
        letters = admin->list(dead, Page{});
        return letters.rows.size() == 1;
      },
      "a dead letter");
  told("2. A message that nobody can handle: " + std::to_string(letters.rows[0].attempts) +
       " attempts, then dead: \"" + letters.rows[0].last_error + "\". Its history:");
  const auto poisoned = admin->show(letters.rows[0].id, false);
  if (!poisoned) throw Error(ErrorKind::internal, "PBX-6006", "the demo lost its dead letter");
  for (const AttemptRow& attempt : poisoned->attempts) {
    told("     attempt " + std::to_string(attempt.attempt) + "  " + attempt.outcome + "  " +
         attempt.error);
  }

  sink_is_up = false;
  const int before = delivered;
  for (int i = 0; i < 50; ++i) admin->enqueue({.job_type = "email.outage.v1", .payload = "{}"});
  Filter outage;
  outage.job_types = {"email.outage.v1"};
  outage.attempts_max = 0;
  outage.error_contains = "down";
  // Until the relay has met the outage: a message was tried, and given back with its attempt.
  wait_until([&] { return !admin->list(outage, Page{}).rows.empty(); }, "the outage");
  told("3. The mail provider is down and 50 messages come in: " +
       std::to_string(admin->overview().dead - 1) + " died of it; no attempt was spent.");
  sink_is_up = true;
  wait_until([&] { return delivered == before + 50; }, "what the outage held back");
  told("   It is back: " + std::to_string(delivered - before) + " delivered.");

  admin->brake("type:email.*", Context::who(), "demo");
  for (int i = 0; i < 10; ++i) admin->enqueue({.job_type = "email.braked.v1", .payload = "{}"});
  told("4. The brake is on: 10 enqueued, " + std::to_string(admin->overview().braked) +
       " wait, none is lost.");
  admin->unbrake("type:email.*", Context::who());
  wait_until([&] { return delivered == before + 60; }, "what the brake held back");
  told("   Lifted: " + std::to_string(admin->overview().braked) + " wait.");
  relay.stop();
  told("In all " + std::to_string(delivered) + " delivered. " +
       (arguments.has("keep") ? "Look around: pillarbox --store " + url + " status"
                              : "The folder is removed (--keep keeps it)."));
  return kDone;
}

}  // namespace pillarbox::cli
