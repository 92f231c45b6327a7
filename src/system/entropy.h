// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillarbox {

// Random bytes of the operating system, good for keys. Thread-safe.
void system_random(void* out, std::size_t size);
[[nodiscard]] std::uint64_t system_random_number();

}  // namespace pillarbox
