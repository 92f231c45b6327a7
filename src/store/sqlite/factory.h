// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/store.h"

namespace pillarbox::sqlite {

// sqlite:PATH[?synchronous=normal|full]. All sessions that one factory makes for a file share its
// checkpointer, so a process wants one factory.
[[nodiscard]] std::shared_ptr<const StoreFactory> make_factory();

}  // namespace pillarbox::sqlite
