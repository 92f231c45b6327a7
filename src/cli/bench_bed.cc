// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_bed.h"

#include <unistd.h>

#include <cstdlib>

#include "core/url.h"
#include "store/registry.h"

namespace pillarbox::cli {

NewMessage bench_message(const Plan& plan, std::size_t i) {
  NewMessage message;
  message.job_type = "bench.v1";
  const std::string head = "{\"n\":" + std::to_string(i) + ",\"pad\":\"";
  message.payload =
      head + std::string(plan.size > head.size() + 2 ? plan.size - head.size() - 2 : 0, 'x') +
      "\"}";
  if (plan.keys > 0) message.ordering_key = "key-" + std::to_string(i % plan.keys);
  return message;
}

Bed::Bed(Context& context, const Arguments& arguments) {
  if (arguments.has("store") || arguments.has("config") ||
      std::getenv("PILLARBOX_STORE") != nullptr) {
    options_ = context.store_options();
  } else {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pillarbox-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorKind::refused, "PBX-6005", "cannot make a temporary folder; set TMPDIR");
    }
    folder_ = pattern;
    options_.url = "sqlite:" + pattern + "/bench.db";
  }
  options_.call_timeout = Millis{60'000};
  factory_ = &store_factory_for(options_.url);
  factory_->schema(options_)->up({}, {});
  admin_ = factory_->connect_admin(options_);
  Page one;
  one.limit = 1;
  if (!admin_->list(Filter{}, one).rows.empty() || !admin_->brakes().empty()) {
    throw Error(
        ErrorKind::refused, "PBX-6007",
        "the outbox in " + core::redact_url(options_.url) +
            " has messages or a brake: bench would deliver them to nowhere and remove them. Give "
            "an empty one");
  }
}

Bed::~Bed() {
  admin_.reset();
  std::error_code ignored;  // the system cleans its temporary folder
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void Bed::fill(const Plan& plan) {
  constexpr std::size_t kAtOnce = 1'000;
  std::vector<NewMessage> some;
  for (std::size_t i = 0; i < plan.messages; ++i) {
    some.push_back(bench_message(plan, i));
    if (some.size() == kAtOnce || i + 1 == plan.messages) {
      static_cast<void>(admin().enqueue_all(some));
      some.clear();
    }
  }
}

void Bed::empty() {
  while (admin_->purge(PurgeKind::dispatched, Millis{0}, 10'000) > 0) {
  }
}

void Bed::drain() {
  StoreOptions options = options_;
  options.claimed_by = make_claimed_by();
  options.keep_dispatched = false;
  const auto store = factory_->connect(options);
  for (bool more = true; more;) {
    const ClaimResult result = store->claim({.count_max = 1'000, .sweep = true});
    std::vector<Settlement> settlements;
    for (const ClaimedMessage& message : result.messages)
      settlements.push_back({.lease = message.lease, .kind = SettleKind::dispatched});
    static_cast<void>(store->settle(settlements));  // nobody else works here
    more = !result.messages.empty();
  }
  empty();
}

}  // namespace pillarbox::cli
