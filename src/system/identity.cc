// SPDX-License-Identifier: Apache-2.0
// What needs the operating system's clock and chance: new ids and the relay's name. Apart from
// core, which has neither.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include "core/assert.h"
#include "pillarbox/message.h"
#include "pillarbox/store.h"
#include "system/entropy.h"

namespace pillarbox {

void system_random(void* out, std::size_t size) {
  auto* at = static_cast<unsigned char*>(out);
  while (size > 0) {
    const ssize_t got = ::getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    PILLARBOX_ASSERT(got > 0);
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::uint64_t system_random_number() {
  std::uint64_t number = 0;
  system_random(&number, sizeof number);
  return number;
}

MessageId MessageId::make() {
  // RFC 9562, section 6.2, method 1: rand_a is a counter that is seeded at random in each new
  // millisecond (with its top bit clear, to leave room) and counts on within it; when it is full,
  // the time is run ahead by one.
  static std::mutex mutex;
  static std::uint64_t last_ms = 0;
  static std::uint32_t counter = 0;

  std::array<std::uint8_t, 16> bytes{};
  system_random(bytes.data(), bytes.size());
  std::uint64_t ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  std::uint32_t count = 0;
  {
    const std::lock_guard lock(mutex);
    if (ms > last_ms) {
      last_ms = ms;
      counter = (static_cast<std::uint32_t>(bytes[6]) << 8U | bytes[7]) & 0x7FFU;
    } else if (++counter > 0xFFFU) {
      ++last_ms;
      counter = 0;
    }
    ms = last_ms;
    count = counter;
  }
  for (unsigned i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (8U * (5U - i)));
  bytes[6] = static_cast<std::uint8_t>(0x70U | (count >> 8U));
  bytes[7] = static_cast<std::uint8_t>(count);
  bytes[8] = static_cast<std::uint8_t>(0x80U | (bytes[8] & 0x3FU));
  return MessageId(bytes);
}

std::string make_claimed_by() {
  constexpr std::size_t kHostMax = 60;  // claimed_by is at most 100 characters in every store
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  std::string name(host.data(), std::min(std::strlen(host.data()), kHostMax));
  for (char& c : name) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ||
                       lower == '-' || lower == '.';
    c = plain ? lower : '-';
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string nonce;
  for (std::uint64_t bits = system_random_number(); nonce.size() < 12; bits >>= 4U)
    nonce += kHex[bits & 15U];
  return name + ":" + std::to_string(::getpid()) + ":" + nonce;
}

}  // namespace pillarbox
