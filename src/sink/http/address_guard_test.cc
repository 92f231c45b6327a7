// SPDX-License-Identifier: Apache-2.0
#include "sink/http/address_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace pillarbox::http {
namespace {

bool public4(const char* text) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, text, &in.sin_addr), 1) << text;
  return is_public(reinterpret_cast<const sockaddr&>(in));
}

bool public6(const char* text) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &in.sin6_addr), 1) << text;
  return is_public(reinterpret_cast<const sockaddr&>(in));
}

TEST(AddressGuard, RefusesWhatIsNotPublicInIpv4) {
  for (const char* text :
       {"0.0.0.0",         "0.255.255.255",   "10.0.0.1",        "10.255.255.255",
        "100.64.0.1",      "100.127.255.255", "127.0.0.1",       "127.255.255.254",
        "169.254.169.254", "172.16.0.1",      "172.31.255.255",  "192.0.0.8",
        "192.0.2.1",       "192.168.0.1",     "192.168.255.255", "198.18.0.1",
        "198.19.255.255",  "198.51.100.7",    "203.0.113.9",     "224.0.0.1",
        "239.255.255.255", "240.0.0.1",       "255.255.255.255"}) {
    EXPECT_FALSE(public4(text)) << text;
  }
}

TEST(AddressGuard, AllowsPublicIpv4RightBesideTheBlocks) {
  for (const char* text :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"}) {
    EXPECT_TRUE(public4(text)) << text;
  }
}

TEST(AddressGuard, RefusesWhatIsNotPublicInIpv6) {
  for (const char* text :
       {"::", "::1", "fc00::1", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
        "2001:db8::1", "2001::1", "2001:10::1", "100::1", "3fff::1", "4000::1", "64:ff9b:1::1"}) {
    EXPECT_FALSE(public6(text)) << text;
  }
}

TEST(AddressGuard, AllowsPublicIpv6) {
  for (const char* text : {"2606:4700:4700::1111", "2001:4860:4860::8888", "2a00::1"}) {
    EXPECT_TRUE(public6(text)) << text;
  }
}

// Each of these reaches an IPv4 address through IPv6.
TEST(AddressGuard, LooksThroughIpv6AtTheIpv4AddressInside) {
  for (const char* text :
       {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
        "64:ff9b::192.168.0.1", "2002:7f00:1::", "2002:a00:1::"}) {
    EXPECT_FALSE(public6(text)) << text;
  }
  for (const char* text : {"::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::"}) {
    EXPECT_TRUE(public6(text)) << text;
  }
}

TEST(AddressGuard, RefusesOtherFamilies) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public(reinterpret_cast<const sockaddr&>(un)));
}

}  // namespace
}  // namespace pillarbox::http
