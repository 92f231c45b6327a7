// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "pillarbox/store.h"

namespace pillarbox::memory {

// The store for `memory:NAME`: an outbox in this process, for tests and for the simulator. Sessions
// that use one name share one outbox; it is gone when the last of them is.
[[nodiscard]] std::shared_ptr<const StoreFactory> make_factory();

// NAME of `memory:NAME`: 1 to 100 of A-Z a-z 0-9 . _ -. Throws Error(invalid_input, PBX-2010).
[[nodiscard]] std::string outbox_name(const StoreOptions& options);

}  // namespace pillarbox::memory
