// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/factory.h"

#include <array>

#include "postgresql/location.h"
#include "store/postgresql/admin.h"
#include "store/postgresql/schema.h"
#include "store/postgresql/store.h"
#include "store/postgresql/wake.h"

namespace pillarbox::postgresql {
namespace {

class Factory final : public StoreFactory {
 public:
  [[nodiscard]] std::span<const std::string_view> schemes() const override {
    static constexpr std::array<std::string_view, 2> kSchemes = {"postgresql", "postgres"};
    return kSchemes;
  }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.wakes = true,
            .many_relays = true,
            .concurrent_claims = true,
            .concurrent_producers = true,
            .roles = true,
            .durable = true};
  }
  void check(const StoreOptions& options) const override {
    static_cast<void>(read_location(options.url));
  }
  [[nodiscard]] std::unique_ptr<Store> connect(const StoreOptions& options) const override {
    return std::make_unique<PostgresqlStore>(options);
  }
  [[nodiscard]] std::unique_ptr<StoreAdmin> connect_admin(
      const StoreOptions& options) const override {
    return std::make_unique<PostgresqlAdmin>(options);
  }
  [[nodiscard]] std::unique_ptr<WakeSource> wake_source(
      const StoreOptions& options) const override {
    return std::make_unique<PostgresqlWakeSource>(options);
  }
  [[nodiscard]] std::unique_ptr<Schema> schema(const StoreOptions& options) const override {
    return std::make_unique<PostgresqlSchema>(options);
  }
  [[nodiscard]] std::vector<MigrationStep> migrations(const StoreOptions& options) const override {
    return migration_steps(read_location(options.url).schema);
  }
};

}  // namespace

std::shared_ptr<const StoreFactory> make_factory() { return std::make_shared<Factory>(); }

}  // namespace pillarbox::postgresql
