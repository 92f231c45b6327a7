// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "pillarbox/store.h"
#include "store/memory/tables.h"

// What an operator does to an outbox, and what a relay tells it. As with work.h, the caller holds
// the outbox's lock.
namespace pillarbox::memory {

struct Act {
  std::span<const ActTarget> targets;
  std::string_view who;
  std::string_view why;
};

[[nodiscard]] ActResult replay(Tables& tables, const Act& act, DbTime now);
[[nodiscard]] ActResult discard(Tables& tables, const Act& act, DbTime now);
[[nodiscard]] ActResult release(Tables& tables, const Act& act, DbTime now);

[[nodiscard]] std::int64_t brake(Tables& tables, std::string_view scope, std::string_view who,
                                 std::string_view why, DbTime now);
[[nodiscard]] bool unbrake(Tables& tables, std::string_view scope, std::string_view who,
                           DbTime now);
[[nodiscard]] std::int64_t claimed_in_scope(const Tables& tables, std::string_view scope,
                                            DbTime now);

[[nodiscard]] std::int64_t purge(Tables& tables, PurgeKind kind, Millis age, std::size_t batch,
                                 DbTime now);

[[nodiscard]] bool heartbeat(Tables& tables, const RelayRow& relay, DbTime now);

}  // namespace pillarbox::memory
