// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace pillarbox::cli {

// While it lives, Ctrl-C and SIGTERM are noted instead of ending the program, so that a long act
// stops at a batch's border; the second one ends it at once. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool asked() const noexcept;
  // Until the time, or until asked.
  void wait_until(std::chrono::steady_clock::time_point until) const;
};

}  // namespace pillarbox::cli
