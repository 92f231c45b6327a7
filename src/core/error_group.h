// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pillarbox/store.h"

namespace pillarbox::core {

// An error's text with what changes from one message to the next replaced by '#': numbers, UUIDs,
// runs of eight or more hex digits. Errors of one cause come out equal, so that dead letters can be
// grouped by it.
[[nodiscard]] std::string normalise_error(std::string_view error);

// Counts dead letters by normalised error, type and reason.
class DeadGrouping {
 public:
  static constexpr std::size_t kGroupsMax = 200;

  void add(RowId id, std::string job_type, DeadReason reason, std::string_view error,
           DbTime dead_at);
  // The largest first, at most kGroupsMax.
  [[nodiscard]] std::vector<DeadGroup> take();

 private:
  std::map<std::tuple<std::string, DeadReason, std::string>, DeadGroup> groups_;
};

}  // namespace pillarbox::core
