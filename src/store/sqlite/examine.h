// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "pillarbox/store.h"
#include "store/sqlite/connection.h"

namespace pillarbox::sqlite {

// The checks that only this database needs. Reads; changes nothing.
[[nodiscard]] std::vector<Finding> examine(Connection& connection);

// Whether a version of SQLite can damage a database in WAL mode when one connection resets the log
// while another checkpoints: fixed in 3.51.3, 3.50.7 and 3.44.6.
[[nodiscard]] bool has_wal_reset_defect(int version_number) noexcept;

}  // namespace pillarbox::sqlite
