// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/factory.h"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>

#include "sql/embedded.h"
#include "store/sqlite/admin.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/location.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store.h"
#include "store/sqlite/wake_source.h"

namespace pillarbox::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kSchemes = {"sqlite"};

class Factory final : public StoreFactory {
 public:
  [[nodiscard]] std::span<const std::string_view> schemes() const override { return kSchemes; }

  [[nodiscard]] Capabilities capabilities() const override {
    return {.wakes = true,
            .many_relays = false,
            .concurrent_claims = false,
            .concurrent_producers = false,
            .roles = false,
            .durable = true};
  }

  void check(const StoreOptions& options) const override {
    static_cast<void>(parse_location(options.url));
  }

  [[nodiscard]] std::unique_ptr<Store> connect(const StoreOptions& options) const override {
    return std::make_unique<SqliteStore>(options, checkpointer_of(options));
  }

  [[nodiscard]] std::unique_ptr<StoreAdmin> connect_admin(
      const StoreOptions& options) const override {
    return std::make_unique<SqliteAdmin>(options, checkpointer_of(options));
  }

  [[nodiscard]] std::unique_ptr<WakeSource> wake_source(
      const StoreOptions& options) const override {
    return std::make_unique<SqliteWakeSource>(options);
  }

  [[nodiscard]] std::unique_ptr<Schema> schema(const StoreOptions& options) const override {
    return std::make_unique<SqliteSchema>(options);
  }

  [[nodiscard]] std::vector<MigrationStep> migrations(
      const StoreOptions& /*options*/) const override {
    return sql::migrations(sql::sqlite_files());
  }

 private:
  [[nodiscard]] std::shared_ptr<Checkpointer> checkpointer_of(const StoreOptions& options) const {
    const std::string path = parse_location(options.url).path;
    std::error_code ignored;  // a file that is not there yet keeps the name it was asked for by
    const std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
    const std::string& key = ignored ? path : real.native();
    const std::lock_guard lock(mutex_);
    std::weak_ptr<Checkpointer>& slot = checkpointers_[key];
    std::shared_ptr<Checkpointer> checkpointer = slot.lock();
    if (checkpointer == nullptr) {
      checkpointer = std::make_shared<Checkpointer>(path);
      slot = checkpointer;
    }
    return checkpointer;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_: by the file's real path.
  mutable std::map<std::string, std::weak_ptr<Checkpointer>> checkpointers_;
};

}  // namespace

std::shared_ptr<const StoreFactory> make_factory() { return std::make_shared<Factory>(); }

}  // namespace pillarbox::sqlite
