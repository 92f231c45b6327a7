// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace pillarbox::core {

// Owns a C library's object: Handle<PGconn, &PQfinish>.
template <auto Close>
struct CloseWith {
  template <class T>
  void operator()(T* p) const noexcept {
    Close(p);
  }
};
template <class T, auto Close>
using Handle = std::unique_ptr<T, CloseWith<Close>>;

}  // namespace pillarbox::core
