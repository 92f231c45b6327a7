// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pillarbox::core {

// Writes the failed condition to stderr and aborts. The lease brings the work back.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace pillarbox::core

// We broke our own contract. On in release builds too; user input never reaches it.
#define PILLARBOX_ASSERT(condition) \
  (static_cast<bool>(condition)     \
       ? static_cast<void>(0)       \
       : ::pillarbox::core::assertion_failed(#condition, __FILE__, __LINE__))
