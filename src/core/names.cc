// SPDX-License-Identifier: Apache-2.0
// The words of enumerators that users see: one place, so that a column, a field and a metric share
// them.
#include <array>

#include "pillarbox/outcome.h"
#include "pillarbox/store.h"

namespace pillarbox {

std::string_view to_string(OutcomeKind kind) noexcept {
  constexpr std::array<std::string_view, 7> kNames = {
      "delivered", "transient", "permanent", "throttled", "unavailable", "not_sent", "in_flight"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(SettleKind kind) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"dispatched", "retry", "dead", "release"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {
constexpr std::array<std::string_view, 6> kReasons = {"permanent", "attempts",  "poison",
                                                      "expired",   "malformed", "parked"};
}  // namespace

std::string_view to_string(DeadReason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)];
}

std::optional<DeadReason> dead_reason_from(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (kReasons[i] == text) return static_cast<DeadReason>(i);
  }
  return std::nullopt;
}

std::string_view to_string(KeyPolicy policy) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"hold", "skip", "park"};
  return kNames[static_cast<std::size_t>(policy)];
}

std::string_view to_string(Status status) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"pending", "claimed", "dispatched", "dead"};
  return kNames[static_cast<std::size_t>(status)];
}

}  // namespace pillarbox
