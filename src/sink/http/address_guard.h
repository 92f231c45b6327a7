// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sockaddr;

namespace pillarbox::http {

// Whether an address lies on the public internet. Everything of the special-purpose registries
// (RFC 6890) is not: loopback, private, link-local (where clouds keep their credentials), carrier
// NAT, unique local, multicast, documentation. An IPv6 address that carries an IPv4 one (mapped,
// compatible, NAT64, 6to4) is as public as that one. Other address families are not public.
[[nodiscard]] bool is_public(const sockaddr& address) noexcept;

}  // namespace pillarbox::http
