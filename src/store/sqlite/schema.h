// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pillarbox/store.h"

namespace pillarbox::sqlite {

class SqliteSchema final : public Schema {
 public:
  explicit SqliteSchema(const StoreOptions& options);

  [[nodiscard]] SchemaState state() override;
  [[nodiscard]] std::vector<MigrationStep> plan() override;
  void up(const MigrateOptions& options,
          const std::function<void(const MigrationStep&)>& told) override;

 private:
  const std::string path_;
};

}  // namespace pillarbox::sqlite
