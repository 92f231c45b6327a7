// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/checkpointer.h"

#include <sqlite3.h>

#include <algorithm>
#include <thread>

#include "pillarbox/error.h"
#include "store/sqlite/connection.h"

namespace pillarbox::sqlite {
namespace {

constexpr int kStepPages = 1'000;
constexpr Millis kGateWait{1'000};
constexpr std::chrono::milliseconds kLook{5};

// How long writers are kept out so that readers run out: not at all, unless they have got in the
// way for a while.
Millis patience(int wal_pages) {
  if (wal_pages < 6'000) return Millis{0};    // 24 MiB
  if (wal_pages < 10'000) return Millis{25};  // 40 MiB
  return Millis{150};
}

}  // namespace

Checkpointer::Checkpointer(std::string path) : path_(std::move(path)) {}
Checkpointer::~Checkpointer() = default;

void Checkpointer::after_commit(int wal_pages) noexcept {
  if (wal_pages < kBeginPages) {
    next_pages_.store(kBeginPages, std::memory_order_relaxed);
    return;
  }
  if (wal_pages < next_pages_.load(std::memory_order_relaxed)) return;
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  next_pages_.store(wal_pages + kStepPages, std::memory_order_relaxed);
  try {
    checkpoint(wal_pages);
  } catch (const Error&) {
    // The disk may be full, the file gone or the lock taken: the session's own next call says so.
    gate_.reset();
    copier_.reset();
  }
  busy_.clear(std::memory_order_release);
}

void Checkpointer::checkpoint(int wal_pages) {
  const Connection::Options options{.synchronous_full = false, .cache_kib = 64};
  if (gate_ == nullptr) gate_ = std::make_unique<Connection>(path_, options);
  if (copier_ == nullptr) copier_ = std::make_unique<Connection>(path_, options);
  gate_->start_call(kGateWait);
  copier_->start_call(Millis(0));
  Transaction gate(*gate_, Transaction::Kind::write);
  // PASSIVE under the gate: it waits for nobody, and nobody writes. Readers of older states keep it
  // from copying all; those who come meanwhile read the newest. Once all is copied, newcomers read
  // the database itself, and the next writer that finds nobody in the log resets it.
  const auto until = std::chrono::steady_clock::now() + patience(wal_pages);
  for (;;) {
    int log_pages = 0;
    int copied_pages = 0;
    sqlite3_wal_checkpoint_v2(copier_->raw(), "main", SQLITE_CHECKPOINT_PASSIVE, &log_pages,
                              &copied_pages);
    if (std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace pillarbox::sqlite
