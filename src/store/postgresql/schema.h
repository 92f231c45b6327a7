// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pillarbox/store.h"
#include "postgresql/session.h"

namespace pillarbox::postgresql {

// The numbered migrations, in the location's schema.
[[nodiscard]] std::vector<MigrationStep> migration_steps(std::string_view schema);

class PostgresqlSchema final : public Schema {
 public:
  explicit PostgresqlSchema(const StoreOptions& options);
  [[nodiscard]] SchemaState state() override;
  [[nodiscard]] std::vector<MigrationStep> plan() override;
  void up(const MigrateOptions& options,
          const std::function<void(const MigrationStep&)>& told) override;

 private:
  Session session_;
};

}  // namespace pillarbox::postgresql
