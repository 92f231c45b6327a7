// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace pillarbox::sink {

// Keeps SIGPIPE from this thread while it lives, so that a vanished reader is an error number and
// does not end a process that did not ask for that. Swallows only the signal that it kept away.
class SigpipeGuard {
 public:
  SigpipeGuard() noexcept;
  ~SigpipeGuard();
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace pillarbox::sink
