// SPDX-License-Identifier: Apache-2.0
// The relay with real threads over the store in memory; faults are put between the two.
#include "pillarbox/relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include "pillarbox/error.h"
#include "relay/outbox_run.h"
#include "store/registry.h"

namespace pillarbox::relay {
namespace {

using std::chrono::seconds;

constexpr seconds kLimit{60};  // for what must happen; nothing waits so long when all is well

// What tests wait on: a mutex and a condition that every change notifies.
class Bell {
 public:
  template <class Change>
  void change(const Change& apply) {
    const std::lock_guard lock(mutex_);
    apply();
    changed_.notify_all();
  }
  template <class Predicate>
  [[nodiscard]] bool wait(const Predicate& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, holds);
  }
  // For what is found out by asking again: until the next change, and not long.
  void rest() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, Millis{2});
  }
  template <class Read>
  auto read(const Read& value) {
    const std::lock_guard lock(mutex_);
    return value();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Recorder final : public Observer {
 public:
  void event(std::string_view name,
             const std::vector<std::pair<std::string_view, std::string>>& /*fields*/) override {
    bell_.change([&] { ++seen_[std::string(name)]; });
  }
  [[nodiscard]] bool wait_for(const EventName& event, int count = 1) {
    return bell_.wait([&] { return seen_[std::string(event.name)] >= count; });
  }
  [[nodiscard]] int count(const EventName& event) {
    return bell_.read([&] { return seen_[std::string(event.name)]; });
  }

 private:
  Bell bell_;
  std::map<std::string, int> seen_;
};

// Faults that a test plans: the n-th calls of an operation fail, before or after they took effect.
class Faults {
 public:
  enum class Op { connect, claim, settle, renew };
  enum class When { before, after };
  struct Plan {
    std::optional<Op> op;  // nullopt: any
    int first = 0;
    int last = -1;
    When when = When::before;
    ErrorKind kind = ErrorKind::unreachable;
  };

  void plan(Plan plan) { plan_ = plan; }
  [[nodiscard]] bool wait_for_calls(Op op, int count) {
    return bell_.wait([&] { return calls_[op] >= count; });
  }

  template <class Call>
  auto run(Op op, const Call& call) {
    int number = 0;
    bell_.change([&] {
      ++calls_[op];
      ++all_;
      number = plan_.op ? calls_[op] : all_;
    });
    const bool hit = (!plan_.op || plan_.op == op) && number >= plan_.first && number <= plan_.last;
    if (hit && plan_.when == When::before) fail(false);
    auto result = call();
    if (hit) fail(true);
    return result;
  }

 private:
  [[noreturn]] void fail(bool in_doubt) const {
    const bool lost = plan_.kind == ErrorKind::unreachable;
    throw Error(plan_.kind, "PBX-4001", "planned",
                {.in_doubt = in_doubt, .connection_lost = lost, .native_code = {}});
  }
  Bell bell_;
  Plan plan_;
  std::map<Op, int> calls_;
  int all_ = 0;
};

class FaultyStore final : public Store {
 public:
  FaultyStore(std::unique_ptr<Store> store, Faults& faults)
      : store_(std::move(store)), faults_(faults) {}
  [[nodiscard]] ClaimResult claim(const ClaimRequest& request) override {
    return faults_.run(Faults::Op::claim, [&] { return store_->claim(request); });
  }
  [[nodiscard]] std::vector<Lease> renew(std::span<const Lease> leases, Millis by) override {
    return faults_.run(Faults::Op::renew, [&] { return store_->renew(leases, by); });
  }
  [[nodiscard]] std::vector<Lease> settle(std::span<const Settlement> settlements) override {
    return faults_.run(Faults::Op::settle, [&] { return store_->settle(settlements); });
  }

 private:
  std::unique_ptr<Store> store_;
  Faults& faults_;
};

class FaultyFactory final : public StoreFactory {
 public:
  explicit FaultyFactory(Faults& faults) : inner_(store_factory_for("memory:x")), faults_(faults) {}
  [[nodiscard]] std::span<const std::string_view> schemes() const override {
    return inner_.schemes();
  }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }
  void check(const StoreOptions& options) const override { inner_.check(options); }
  [[nodiscard]] std::unique_ptr<Store> connect(const StoreOptions& options) const override {
    return faults_.run(Faults::Op::connect, [&]() -> std::unique_ptr<Store> {
      return std::make_unique<FaultyStore>(inner_.connect(options), faults_);
    });
  }
  [[nodiscard]] std::unique_ptr<StoreAdmin> connect_admin(
      const StoreOptions& options) const override {
    return inner_.connect_admin(options);
  }
  [[nodiscard]] std::unique_ptr<WakeSource> wake_source(
      const StoreOptions& options) const override {
    return inner_.wake_source(options);
  }
  [[nodiscard]] std::unique_ptr<Schema> schema(const StoreOptions& options) const override {
    return inner_.schema(options);
  }
  [[nodiscard]] std::vector<MigrationStep> migrations(const StoreOptions& options) const override {
    return inner_.migrations(options);
  }

 private:
  const StoreFactory& inner_;
  Faults& faults_;
};

std::string unique_url() {
  static std::atomic<int> next{0};
  return "memory:relay" + std::to_string(++next);
}

class RelayTest : public testing::Test {
 protected:
  RelayTest() {
    settings.outboxes = {{.name = "outbox", .store = {.url = unique_url()}}};
    RouteSettings route;
    route.name = "all";
    route.sink = "handler:h";
    settings.routes = {route};
    settings.retry = {.max_attempts = 3, .base = Millis{4}, .cap = Millis{20}};
    settings.poll_interval = Millis{50};
    admin = factory().connect_admin(settings.outboxes[0].store);
    handlers["h"] = [this](const ClaimedMessage& message) { return handle(message); };
  }

  static const StoreFactory& factory() { return store_factory_for("memory:x"); }

  Outcome handle(const ClaimedMessage& message) {
    Outcome outcome = answer ? answer(message) : Outcome::delivered();
    bell.change([&] { ++handled[to_int(message.lease.id)]; });
    return outcome;
  }
  int handled_in_all() {
    return bell.read([&] {
      int sum = 0;
      for (const auto& [id, count] : handled) sum += count;
      return sum;
    });
  }
  void enqueue(int count, std::string type = "mail.v1", std::string key = {}) {
    std::vector<NewMessage> messages(static_cast<std::size_t>(count));
    for (NewMessage& message : messages) {
      message.job_type = type;
      message.ordering_key = key;
    }
    admin->enqueue_all(messages);
  }
  std::vector<MessageRow> rows() {
    MessageList list = admin->list({}, {.limit = 500});
    return std::move(list.rows);
  }
  std::size_t with_status(Status status) {
    const auto all = rows();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const MessageRow& row) { return row.status == status; }));
  }
  // Runs a relay until nothing is due.
  void run_until_idle() {
    Relay relay(settings, handlers, recorder);
    relay.start();
    EXPECT_TRUE(relay.wait_until_idle(kLimit));
    relay.stop();
  }
  std::unique_ptr<OutboxRun> make_run() {
    return std::make_unique<OutboxRun>(settings, settings.outboxes[0], handlers, recorder,
                                       faulty_factory);
  }
  template <class Predicate>
  [[nodiscard]] bool eventually(const Predicate& holds) {
    const Instant limit = std::chrono::steady_clock::now() + kLimit;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      bell.rest();
    }
    return true;
  }
  [[nodiscard]] bool reaches(Status status, std::size_t count) {
    return eventually([&] { return with_status(status) == count; });
  }

  RelaySettings settings;
  std::map<std::string, Handler> handlers;
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  Faults faults;
  FaultyFactory faulty_factory{faults};
  std::unique_ptr<StoreAdmin> admin;
  Bell bell;
  std::map<std::int64_t, int> handled;
  std::function<Outcome(const ClaimedMessage&)> answer;
};

TEST_F(RelayTest, DeliversEachMessageOnceWithManyWorkers) {
  settings.workers = 4;
  settings.batch_size = 7;
  enqueue(300);
  run_until_idle();
  EXPECT_EQ(with_status(Status::dispatched), 300U);
  EXPECT_EQ(handled.size(), 300U);
  EXPECT_EQ(handled_in_all(), 300);
}

TEST_F(RelayTest, RetriesAndBuriesAtTheCap) {
  enqueue(1);
  answer = [](const ClaimedMessage&) { return Outcome::transient("t", "not now"); };
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(recorder->wait_for(kDied));
  EXPECT_TRUE(relay.wait_until_idle(kLimit));
  relay.stop();
  EXPECT_EQ(handled_in_all(), 3);
  const auto letters = admin->dead_letters({}, {});
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].reason, DeadReason::attempts);
  EXPECT_EQ(letters[0].attempts, 3);
  EXPECT_EQ(recorder->count(kRetried), 2);
}

// A message that kills its relay each time leaves only leases that ran out.
TEST_F(RelayTest, BuriesAsPoisonWhatKilledItsRelayEachTime) {
  enqueue(1);
  StoreOptions dying = settings.outboxes[0].store;
  dying.claimed_by = "dying:1:00000000";
  const auto store = factory().connect(dying);
  for (int i = 0; i < settings.retry.max_attempts; ++i) {
    EXPECT_TRUE(eventually(
        [&] { return !store->claim({.lease = Millis{1}, .sweep = true}).messages.empty(); }));
  }
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(recorder->wait_for(kDied));
  EXPECT_TRUE(relay.wait_until_idle(kLimit));
  relay.stop();
  EXPECT_EQ(handled_in_all(), 0);
  const auto letters = admin->dead_letters({}, {});
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].reason, DeadReason::poison);
}

TEST_F(RelayTest, SpendsNoAttemptWhileTheSinkIsDown) {
  enqueue(20);
  std::atomic<bool> up{false};
  answer = [&](const ClaimedMessage&) {
    return up ? Outcome::delivered() : Outcome::unavailable("curl_7", "refused");
  };
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(recorder->wait_for(kBreakerOpened, 2));
  up = true;
  EXPECT_TRUE(recorder->wait_for(kBreakerClosed));
  EXPECT_TRUE(reaches(Status::dispatched, 20));
  relay.stop();
  for (const MessageRow& row : rows()) EXPECT_EQ(row.attempts, 1);
  EXPECT_EQ(recorder->count(kDied), 0);
}

TEST_F(RelayTest, WaitsAsLongAsTheSinkSaysAndSpendsNoAttempt) {
  enqueue(5);
  std::atomic<int> calls{0};
  answer = [&](const ClaimedMessage&) {
    return calls++ < 5 ? Outcome::throttled("http_429", "slow down", Millis{20})
                       : Outcome::delivered();
  };
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(reaches(Status::dispatched, 5));
  relay.stop();
  for (const MessageRow& row : rows()) EXPECT_EQ(row.attempts, 1);
}

TEST_F(RelayTest, DeliversNothingWhileBrakedAndAllAfterwards) {
  admin->brake("type:mail.*", "test", "because");
  enqueue(3);
  enqueue(2, "sms.v1");
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(reaches(Status::dispatched, 2));
  EXPECT_TRUE(faults.wait_for_calls(Faults::Op::claim, 8));
  EXPECT_EQ(handled_in_all(), 2);
  EXPECT_TRUE(admin->unbrake("type:mail.*", "test"));
  EXPECT_TRUE(reaches(Status::dispatched, 5));
  run->stop();
  for (const MessageRow& row : rows()) EXPECT_EQ(row.attempts, 1);
}

TEST_F(RelayTest, KeepsTheOrderOfEachKeyWithManyWorkers) {
  settings.workers = 4;
  settings.batch_size = 3;
  constexpr int kKeys = 6;
  constexpr int kEach = 15;
  for (int i = 0; i < kEach; ++i) {
    for (int key = 0; key < kKeys; ++key) enqueue(1, "mail.v1", "k" + std::to_string(key));
  }
  std::map<std::string, std::vector<std::int64_t>> order;
  std::set<std::string> running;
  bool overlapped = false;
  std::map<std::int64_t, int> tries;
  answer = [&](const ClaimedMessage& message) {
    bell.change([&] {
      if (!running.insert(message.ordering_key).second) overlapped = true;
    });
    std::this_thread::yield();
    Outcome outcome = Outcome::delivered();
    bell.change([&] {
      running.erase(message.ordering_key);
      const std::int64_t id = to_int(message.lease.id);
      if (id % 7 == 0 && ++tries[id] == 1) {
        outcome = Outcome::transient("t", "once more");
      } else {
        order[message.ordering_key].push_back(id);
      }
    });
    return outcome;
  };
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(reaches(Status::dispatched, kKeys * kEach));
  relay.stop();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(order.size(), static_cast<std::size_t>(kKeys));
  for (const auto& [key, ids] : order) {
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(kEach)) << key;
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end())) << key;
  }
}

TEST_F(RelayTest, FinishesWhatRunsAndGivesTheRestBackWhenStopped) {
  settings.routes[0].batch_max = 1;
  settings.workers = 1;
  enqueue(5);
  bool entered = false;
  bool go = false;
  answer = [&](const ClaimedMessage&) {
    bell.change([&] { entered = true; });
    EXPECT_TRUE(bell.wait([&] { return go; }));
    return Outcome::delivered();
  };
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(bell.wait([&] { return entered; }));
  run->ask_to_drain(std::chrono::steady_clock::now() + kLimit);
  bell.change([&] { go = true; });
  run->stop();
  run->stop();
  EXPECT_TRUE(run->workers_have_ended());
  EXPECT_EQ(with_status(Status::dispatched), 1U);
  EXPECT_EQ(with_status(Status::claimed), 0U);
  for (const MessageRow& row : rows()) {
    if (row.status == Status::pending) {
      EXPECT_EQ(row.attempts, 0);
    }
  }
}

// A drain in the middle of a batch: what the handler was not called for goes back untouched.
TEST_F(RelayTest, SendsNoMoreOfABatchOnceItIsAskedToDrain) {
  settings.workers = 1;
  enqueue(5);
  bool entered = false;
  bool go = false;
  answer = [&](const ClaimedMessage&) {
    bell.change([&] { entered = true; });
    EXPECT_TRUE(bell.wait([&] { return go; }));
    return Outcome::delivered();
  };
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(bell.wait([&] { return entered; }));
  run->ask_to_drain(std::chrono::steady_clock::now() + kLimit);
  bell.change([&] { go = true; });
  run->stop();
  EXPECT_EQ(handled_in_all(), 1);
  EXPECT_EQ(with_status(Status::pending), 4U);
  for (const MessageRow& row : rows()) {
    EXPECT_EQ(row.attempts, row.status == Status::pending ? 0 : 1);
    EXPECT_TRUE(admin->show(row.id, false)->attempts.empty());
  }
}

// The same for a brake; keeper and leases run meanwhile.
TEST_F(RelayTest, SendsNoMoreOfABatchOnceItsTypeIsBraked) {
  settings.workers = 1;
  settings.lease = Millis{200};  // renewed often: all of this is over before the batch's time is
  enqueue(5);
  bool entered = false;
  bool go = false;
  answer = [&](const ClaimedMessage&) {
    bell.change([&] { entered = true; });
    EXPECT_TRUE(bell.wait([&] { return go; }));
    return Outcome::delivered();
  };
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(bell.wait([&] { return entered; }));
  EXPECT_TRUE(faults.wait_for_calls(Faults::Op::renew, 1));
  admin->brake("type:mail.*", "test", "because");
  EXPECT_TRUE(faults.wait_for_calls(Faults::Op::renew, 4)) << "between two of them it reads brakes";
  bell.change([&] { go = true; });
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  EXPECT_TRUE(reaches(Status::pending, 4));
  EXPECT_EQ(handled_in_all(), 1);
  run->stop();
}

// Whatever a settle meets, what the sink took is not sent again while the lease lives.
TEST_F(RelayTest, RepeatsAFailedSettleAndNeverTheDelivery) {
  for (const auto when : {Faults::When::before, Faults::When::after}) {
    for (int failures = 1; failures <= 4; ++failures) {
      handled.clear();
      Faults own;
      own.plan({.op = Faults::Op::settle, .first = 1, .last = failures, .when = when});
      const FaultyFactory faulty(own);
      const std::size_t before = with_status(Status::dispatched);
      enqueue(3);
      OutboxRun run(settings, settings.outboxes[0], handlers, recorder, faulty);
      run.start();
      EXPECT_TRUE(own.wait_for_calls(Faults::Op::settle, failures + 1));
      EXPECT_TRUE(reaches(Status::dispatched, before + 3));
      run.stop();
      EXPECT_EQ(handled_in_all(), 3) << failures;
    }
  }
}

// The n-th call to the store fails, for every n, before or after it took effect: nothing is lost
// and nothing stays claimed.
TEST_F(RelayTest, SurvivesTheFailureOfAnyCallToTheStore) {
  settings.lease = Millis{150};
  settings.retry.max_attempts = 20;
  std::size_t total = 0;
  for (const ErrorKind kind : {ErrorKind::unreachable, ErrorKind::conflict}) {
    for (const auto when : {Faults::When::before, Faults::When::after}) {
      for (int n = 1; n <= 8; ++n) {
        Faults own;
        own.plan({.op = {}, .first = n, .last = n, .when = when, .kind = kind});
        const FaultyFactory faulty(own);
        enqueue(4);
        total += 4;
        OutboxRun run(settings, settings.outboxes[0], handlers, recorder, faulty);
        run.start();
        EXPECT_TRUE(reaches(Status::dispatched, total)) << n;
        run.stop();
      }
    }
  }
  EXPECT_EQ(handled.size(), total);
}

// An operator takes the lease away while the sink is at work: the old holder's word changes
// nothing, and it says so.
TEST_F(RelayTest, DoesNotSettleALeaseThatItHasLost) {
  enqueue(1);
  bool entered = false;
  bool go = false;
  std::atomic<int> calls{0};
  answer = [&](const ClaimedMessage&) {
    if (calls++ > 0) return Outcome::delivered();
    bell.change([&] { entered = true; });
    EXPECT_TRUE(bell.wait([&] { return go; }));
    return Outcome::permanent("http_400", "an answer that comes too late");
  };
  settings.workers = 1;
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(bell.wait([&] { return entered; }));
  const MessageRow row = rows().at(0);
  const ActTarget target{row.id, row.claim_no};
  EXPECT_EQ(admin->release({&target, 1}, "test", "stuck").done, 1);
  bell.change([&] { go = true; });
  EXPECT_TRUE(recorder->wait_for(kLeaseLost));
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  run->stop();
  EXPECT_TRUE(admin->dead_letters({}, {}).empty());
}

TEST_F(RelayTest, KeepsTheLeaseOfASlowDelivery) {
  settings.lease = Millis{1'200};
  enqueue(1);
  answer = [&](const ClaimedMessage&) {
    EXPECT_TRUE(faults.wait_for_calls(Faults::Op::renew, 3));
    return Outcome::delivered();
  };
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  run->stop();
  EXPECT_EQ(handled_in_all(), 1);
  EXPECT_EQ(recorder->count(kReclaimed), 0);
  EXPECT_EQ(rows().at(0).claim_no, 1);
}

TEST_F(RelayTest, TellsOnceThatItsKeeperFails) {
  settings.lease = Millis{2'400};
  faults.plan({.op = Faults::Op::renew, .first = 1, .last = 2});
  enqueue(1);
  answer = [&](const ClaimedMessage&) {
    EXPECT_TRUE(faults.wait_for_calls(Faults::Op::renew, 3));
    return Outcome::delivered();
  };
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  run->stop();
  EXPECT_EQ(recorder->count(kKeeperFailed), 1);
  EXPECT_EQ(handled_in_all(), 1);
}

TEST_F(RelayTest, WaitsForAStoreThatIsNotThereYet) {
  faults.plan({.op = Faults::Op::connect, .first = 1, .last = 6});
  enqueue(2);
  const auto run = make_run();
  run->start();
  EXPECT_TRUE(reaches(Status::dispatched, 2));
  run->stop();
  EXPECT_GE(recorder->count(kClaimFailed), 1);
}

TEST_F(RelayTest, SharesAStoreWithAnotherRelay) {
  settings.batch_size = 5;
  enqueue(200);
  Relay one(settings, handlers, recorder);
  Relay two(settings, handlers, recorder);
  one.start();
  two.start();
  EXPECT_TRUE(one.wait_until_idle(kLimit));
  EXPECT_TRUE(two.wait_until_idle(kLimit));
  one.stop();
  two.stop();
  EXPECT_EQ(with_status(Status::dispatched), 200U);
  EXPECT_EQ(handled_in_all(), 200);
}

TEST_F(RelayTest, ServesTwoOutboxes) {
  settings.outboxes.push_back({.name = "second", .store = {.url = unique_url()}});
  const auto second = factory().connect_admin(settings.outboxes[1].store);
  enqueue(3);
  second->enqueue({.job_type = "mail.v1"});
  run_until_idle();
  EXPECT_EQ(with_status(Status::dispatched), 3U);
  EXPECT_EQ(second->list({}, {}).rows.at(0).status, Status::dispatched);
}

TEST_F(RelayTest, GoesOnWithOtherWorkersWhileOneSinkIsSlow) {
  bool entered = false;
  bool go = false;
  answer = [&](const ClaimedMessage& message) {
    if (message.job_type == "slow.v1") {
      bell.change([&] { entered = true; });
      EXPECT_TRUE(bell.wait([&] { return go; }));
    }
    return Outcome::delivered();
  };
  Relay relay(settings, handlers, recorder);
  enqueue(1, "slow.v1");
  relay.start();
  EXPECT_TRUE(bell.wait([&] { return entered; }));
  enqueue(20);
  EXPECT_TRUE(reaches(Status::dispatched, 20));
  bell.change([&] { go = true; });
  EXPECT_TRUE(reaches(Status::dispatched, 21));
  relay.stop();
}

// The poll is an hour away: only the wake source can bring this about.
TEST_F(RelayTest, WakesUpWhenSomethingIsCommitted) {
  settings.poll_interval = std::chrono::hours(1);
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(relay.wait_until_idle(kLimit));
  for (std::size_t i = 1; i <= 5; ++i) {
    enqueue(1);
    EXPECT_TRUE(reaches(Status::dispatched, i));
  }
  relay.stop();
}

TEST_F(RelayTest, TakesAThrowingHandlerForATransientOutcome) {
  enqueue(1);
  std::atomic<int> calls{0};
  answer = [&](const ClaimedMessage&) -> Outcome {
    if (calls++ == 0) throw std::runtime_error("bug");
    return Outcome::delivered();
  };
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  relay.stop();
  EXPECT_EQ(rows().at(0).attempts, 2);
}

TEST_F(RelayTest, LeavesAloneWhatNoRouteTakes) {
  settings.routes[0].type = "mail.*";
  enqueue(1, "nowhere.v1");
  enqueue(1);
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(recorder->wait_for(kUnroutable));
  EXPECT_TRUE(reaches(Status::dispatched, 1));
  relay.stop();
  EXPECT_EQ(with_status(Status::pending), 1U);
}

TEST_F(RelayTest, DrainsWhenAnOperatorAsksForIt) {
  settings.heartbeat_interval = Millis{5};
  settings.outboxes[0].store.claimed_by = "host:1:0000abcd";
  Relay relay(settings, handlers, recorder);
  EXPECT_FALSE(relay.finished());
  relay.start();
  EXPECT_TRUE(eventually([&] { return admin->ask_to_drain("host:1:0000abcd"); }));
  EXPECT_TRUE(recorder->wait_for(kDrainAsked));
  EXPECT_TRUE(eventually([&] { return relay.finished(); }));
  relay.stop();
  EXPECT_TRUE(admin->relays().empty());
}

TEST_F(RelayTest, PurgesWhatIsOldEnough) {
  settings.retention.dispatched = Millis{1};
  settings.purge_interval = Millis{5};
  settings.heartbeat_interval = Millis{5};
  enqueue(10);
  Relay relay(settings, handlers, recorder);
  relay.start();
  EXPECT_TRUE(recorder->wait_for(kPurged));
  EXPECT_TRUE(eventually([&] { return rows().empty(); }));
  EXPECT_EQ(handled_in_all(), 10);
}

TEST_F(RelayTest, KeepsNoDispatchedRowWithRetentionZero) {
  settings.retention.dispatched = Millis{0};
  enqueue(5);
  run_until_idle();
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(handled_in_all(), 5);
}

TEST_F(RelayTest, StopsTwiceAndBeforeItHasStarted) {
  Relay relay(settings, handlers, recorder);
  relay.stop();
  relay.stop();
  relay.start();
  EXPECT_EQ(recorder->count(kRelayStarted), 0);
  Relay other(settings, handlers, recorder);
  other.start();
  other.start();
  other.stop();
  other.stop();
  EXPECT_EQ(recorder->count(kRelayStarted), 1);
  EXPECT_EQ(recorder->count(kRelayStopped), 1);
}

TEST_F(RelayTest, DoesNotFallWithItsObserver) {
  class Thrower final : public Observer {
   public:
    void event(std::string_view,
               const std::vector<std::pair<std::string_view, std::string>>&) override {
      throw std::runtime_error("an observer's bug");
    }
  };
  enqueue(2);
  Relay relay(settings, handlers, std::make_shared<Thrower>());
  relay.start();
  EXPECT_TRUE(reaches(Status::dispatched, 2));
  relay.stop();
}

TEST_F(RelayTest, RefusesSettingsThatCannotWork) {
  const auto refusal = [&](const std::function<void(RelaySettings&)>& spoil) -> std::string {
    RelaySettings bad = settings;
    spoil(bad);
    try {
      const Relay relay(bad, handlers);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
      return std::string(error.code()) + " " + error.what();
    }
    return "accepted";
  };
  const std::string lease = refusal([](RelaySettings& s) { s.lease = Millis{29'999}; });
  EXPECT_NE(lease.find("PBX-2020"), std::string::npos) << lease;
  EXPECT_NE(lease.find("20s"), std::string::npos) << lease;
  EXPECT_NE(lease.find("30s"), std::string::npos) << lease;
  EXPECT_EQ(refusal([](RelaySettings& s) { s.lease = Millis{30'000}; }), "accepted");
  const std::pair<std::string, std::function<void(RelaySettings&)>> cases[] = {
      {"PBX-2021", [](RelaySettings& s) { s.outboxes.clear(); }},
      {"PBX-2022", [](RelaySettings& s) { s.workers = 0; }},
      {"PBX-2022", [](RelaySettings& s) { s.workers = 65; }},
      {"PBX-2022", [](RelaySettings& s) { s.batch_size = 0; }},
      {"PBX-2022", [](RelaySettings& s) { s.batch_size = 10'001; }},
      {"PBX-2022", [](RelaySettings& s) { s.batch_bytes = 0; }},
      {"PBX-2022", [](RelaySettings& s) { s.poll_interval = Millis{0}; }},
      {"PBX-2022", [](RelaySettings& s) { s.heartbeat_interval = Millis{0}; }},
      {"PBX-2022", [](RelaySettings& s) { s.purge_interval = Millis{0}; }},
      {"PBX-2022", [](RelaySettings& s) { s.drain_timeout = Millis{-1}; }},
      {"PBX-2022", [](RelaySettings& s) { s.routes[0].timeout = Millis{0}; }},
      {"PBX-2022", [](RelaySettings& s) { s.retry.max_attempts = 0; }},
      {"PBX-2022", [](RelaySettings& s) { s.retry.base = Millis{0}; }},
      {"PBX-2022", [](RelaySettings& s) { s.retry.cap = s.retry.base - Millis{1}; }},
      {"PBX-2023", [](RelaySettings& s) { s.outboxes.push_back(s.outboxes[0]); }},
      {"PBX-2024", [](RelaySettings& s) { s.routes[0].type = "a*b"; }},
      {"PBX-2025", [](RelaySettings& s) { s.routes[0].sink = "handler:other"; }},
      {"PBX-2025", [](RelaySettings& s) { s.routes[0].sink = "nobody"; }},
      {"PBX-2010", [](RelaySettings& s) { s.outboxes[0].store.url = "nosuch://x"; }},
  };
  for (const auto& [code, spoil] : cases)
    EXPECT_EQ(refusal(spoil).substr(0, 8), code) << refusal(spoil);
}

TEST(RelayEvents, HaveEachItsRowInTheDocs) {
  std::ifstream in(PILLARBOX_SOURCE_DIR "/docs/reference/events.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};
  std::size_t rows = 0;
  for (std::size_t at = text.find("\n| `"); at != std::string::npos;
       at = text.find("\n| `", at + 1))
    ++rows;
  EXPECT_EQ(rows, std::size(kAllEvents));
  for (const EventName& event : kAllEvents) {
    const std::string row = "\n| `" + std::string(event.name) + "` | " +
                            std::string(kLevels[static_cast<std::size_t>(event.level)]) + " |";
    EXPECT_NE(text.find(row), std::string::npos) << row;
    EXPECT_EQ(level_of(event.name), event.level);
  }
  EXPECT_EQ(level_of("nobody knows it"), Level::error);
}

}  // namespace
}  // namespace pillarbox::relay
