// SPDX-License-Identifier: Apache-2.0
#include "sink/sigpipe.h"

#include <ctime>

namespace pillarbox::sink {
namespace {

sigset_t only_sigpipe() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SigpipeGuard::SigpipeGuard() noexcept {
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  const sigset_t set = only_sigpipe();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SigpipeGuard::~SigpipeGuard() {
  if (!was_pending_) {
    const sigset_t set = only_sigpipe();
    const timespec no_wait{};
    while (sigtimedwait(&set, nullptr, &no_wait) == SIGPIPE) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace pillarbox::sink
