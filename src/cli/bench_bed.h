// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "cli/context.h"

namespace pillarbox::cli {

struct Plan {
  std::size_t messages = 0;
  std::size_t size = 0;
  std::size_t workers = 0;
  std::size_t clients = 0;
  std::size_t batch = 0;
  std::size_t runs = 0;
  std::size_t rate = 0;
  std::size_t keys = 0;
  bool leave = false;
};

[[nodiscard]] NewMessage bench_message(const Plan& plan, std::size_t i);

// Where a bench runs: a SQLite file in a temporary folder, unless --store or the configuration
// names a store. That one must hold no message, and holds none afterwards.
class Bed {
 public:
  Bed(Context& context, const Arguments& arguments);
  ~Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  [[nodiscard]] const StoreOptions& options() const noexcept { return options_; }
  [[nodiscard]] const StoreFactory& factory() const noexcept { return *factory_; }
  [[nodiscard]] StoreAdmin& admin() noexcept { return *admin_; }
  // Enqueues plan.messages, many in a transaction.
  void fill(const Plan& plan);
  // Removes what was dispatched.
  void empty();
  // Removes everything, as a relay without a sink would.
  void drain();

 private:
  std::filesystem::path folder_;
  StoreOptions options_;
  const StoreFactory* factory_ = nullptr;
  std::unique_ptr<StoreAdmin> admin_;
};

}  // namespace pillarbox::cli
