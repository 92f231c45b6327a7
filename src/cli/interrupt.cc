// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace pillarbox::cli {
namespace {

volatile std::sig_atomic_t g_signals = 0;

extern "C" void note_signal(int) {
  g_signals = g_signals + 1;
  if (g_signals > 1) ::_exit(130);
}

}  // namespace

Interrupt::Interrupt() {
  g_signals = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::asked() const noexcept { return g_signals > 0; }

void Interrupt::wait_until(std::chrono::steady_clock::time_point until) const {
  // Short waits: a signal that comes between the look and the wait is then seen soon.
  while (!asked()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    if (left <= 0) return;
    ::poll(nullptr, 0, static_cast<int>(std::min<long long>(left, 100)));
  }
}

}  // namespace pillarbox::cli
