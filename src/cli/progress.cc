// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/units.h"

namespace pillarbox::cli {
namespace {

constexpr std::chrono::seconds kTerminalAfter{1};
constexpr std::chrono::milliseconds kTerminalEvery{200};
constexpr std::chrono::seconds kLineEvery{30};

}  // namespace

Progress::Progress(const Context& context, std::string what, std::int64_t total)
    : context_(context),
      what_(std::move(what)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(began_ + (terminal_ ? kTerminalAfter : kLineEvery)) {}

Progress::~Progress() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::at(std::int64_t done) {
  const Clock::time_point now = Clock::now();
  if (now < next_ || context_.quiet()) return;
  next_ = now + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLineEvery));
  const auto ms = std::chrono::duration_cast<Millis>(now - began_).count();
  const std::int64_t rate = done * 1'000 / std::max<std::int64_t>(ms, 1);
  std::string line = what_ + "  " + std::to_string(done);
  if (total_ > 0) line += " of " + std::to_string(total_);
  line += " · " + std::to_string(rate) + "/s";
  if (total_ > done && rate > 0)
    line += " · " + core::describe_duration(Millis((total_ - done) * 1'000 / rate)) + " left";
  if (terminal_) {
    std::cerr << '\r' << line << "\x1b[K" << std::flush;
    drawn_ = true;
  } else {
    std::cerr << line << '\n';
  }
}

}  // namespace pillarbox::cli
