// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "pillarbox/store.h"
#include "store/memory/tables.h"

// What an operator sees of an outbox; nothing here changes it.
namespace pillarbox::memory {

[[nodiscard]] Overview overview(const Tables& tables, DbTime now);
[[nodiscard]] MessageList list(const Tables& tables, const Filter& filter, const Page& page,
                               DbTime now);
[[nodiscard]] std::optional<MessageDetail> show(const Tables& tables, RowId id, bool with_payload,
                                                DbTime now);
[[nodiscard]] std::vector<DeadLetter> dead_letters(const Tables& tables, const Filter& filter,
                                                   const Page& page);
[[nodiscard]] std::vector<DeadGroup> dead_groups(const Tables& tables);

}  // namespace pillarbox::memory
