// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/store.h"

namespace pillarbox::postgresql {

// Stores at postgresql:// and postgres:// URLs; see location.h for their parameters.
[[nodiscard]] std::shared_ptr<const StoreFactory> make_factory();

}  // namespace pillarbox::postgresql
