// SPDX-License-Identifier: Apache-2.0
#include "sink/http/address_guard.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace pillarbox::http {
namespace {

struct Block4 {
  std::uint32_t network;
  int bits;
};
constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24U | b << 16U | c << 8U | d;
}
constexpr std::array<Block4, 17> kSpecial4 = {{
    {v4(0, 0, 0, 0), 8},        // "this network": 0.0.0.0 connects to the host itself
    {v4(10, 0, 0, 0), 8},       // private
    {v4(100, 64, 0, 0), 10},    // carrier NAT
    {v4(127, 0, 0, 0), 8},      // loopback
    {v4(169, 254, 0, 0), 16},   // link-local
    {v4(172, 16, 0, 0), 12},    // private
    {v4(192, 0, 0, 0), 24},     // protocol assignments
    {v4(192, 0, 2, 0), 24},     // documentation
    {v4(192, 31, 196, 0), 24},  // AS112
    {v4(192, 52, 193, 0), 24},  // AMT
    {v4(192, 88, 99, 0), 24},   // 6to4 relays
    {v4(192, 168, 0, 0), 16},   // private
    {v4(198, 18, 0, 0), 15},    // benchmarks
    {v4(198, 51, 100, 0), 24},  // documentation
    {v4(203, 0, 113, 0), 24},   // documentation
    {v4(224, 0, 0, 0), 4},      // multicast
    {v4(240, 0, 0, 0), 4},      // reserved, broadcast
}};

bool is_public4(std::uint32_t address) noexcept {
  for (const Block4& block : kSpecial4) {
    if ((address ^ block.network) >> static_cast<unsigned>(32 - block.bits) == 0) return false;
  }
  return true;
}

using Bytes16 = std::array<std::uint8_t, 16>;

bool begins_with(const Bytes16& address, std::span<const std::uint8_t> prefix) noexcept {
  return std::memcmp(address.data(), prefix.data(), prefix.size()) == 0;
}

std::uint32_t v4_at(const Bytes16& address, std::size_t at) noexcept {
  return v4(address[at], address[at + 1], address[at + 2], address[at + 3]);
}

bool is_public6(const Bytes16& a) noexcept {
  constexpr std::array<std::uint8_t, 12> kZeros{};
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  constexpr std::array<std::uint8_t, 12> kNat64{0, 0x64, 0xFF, 0x9B};
  constexpr std::array<std::uint8_t, 2> k6to4{0x20, 0x02};
  if (begins_with(a, kZeros)) return is_public4(v4_at(a, 12));  // ::, ::1, ::a.b.c.d
  if (begins_with(a, kMapped) || begins_with(a, kNat64)) return is_public4(v4_at(a, 12));
  if (begins_with(a, k6to4)) return is_public4(v4_at(a, 2));
  // Of what is left only 2000::/3 is global unicast; inside it some blocks are special.
  if ((a[0] & 0xE0U) != 0x20) return false;
  constexpr std::array<std::uint8_t, 4> kDocumentation{0x20, 0x01, 0x0D, 0xB8};
  constexpr std::array<std::uint8_t, 2> kProtocols{0x20, 0x01};  // 2001::/23: Teredo, ORCHID …
  if (begins_with(a, kDocumentation)) return false;
  if (begins_with(a, kProtocols) && a[2] < 0x02) return false;
  return !(a[0] == 0x3F && a[1] == 0xFF && a[2] < 0x10);  // 3fff::/20, documentation
}

}  // namespace

bool is_public(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return is_public4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    Bytes16 bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return is_public6(bytes);
  }
  return false;
}

}  // namespace pillarbox::http
