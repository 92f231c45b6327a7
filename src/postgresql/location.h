// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pillarbox::postgresql {

// What a store URL says.
// postgresql://[user[:password]@][host[:port][,host[:port]]…][/database][?parameters]
//   schema=NAME     where the outbox is (default pillarbox)
//   listen=ADDRESS  host[:port] for LISTEN when the main address is a pooler in transaction mode
//   listen=none     poll only
//   prepared=false  no named prepared statements, for poolers that do not keep them
// Every other parameter goes to libpq as it is, so that service and password files keep working.
struct Location {
  std::string url;         // for libpq, without our own parameters
  std::string listen_url;  // empty: none
  std::string schema = "pillarbox";
  bool prepared = true;
};

// Throws Error(invalid_input, PBX-2010) that names the parameter.
[[nodiscard]] Location read_location(std::string_view url);

}  // namespace pillarbox::postgresql
