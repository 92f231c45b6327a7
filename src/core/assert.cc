// SPDX-License-Identifier: Apache-2.0
#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace pillarbox::core {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "pillarbox: assertion failed, this is a defect: %s (%s:%d)\n", condition,
               file, line);
  std::abort();
}

}  // namespace pillarbox::core
