// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// The names of all events that a relay tells its Observer, with their level.
// docs/reference/events.md explains each.
namespace pillarbox::relay {

enum class Level { debug, info, warn, error };  // error: a person must act

struct EventName {
  std::string_view name;
  Level level;
};

inline constexpr EventName kRelayStarted{"relay_started", Level::info};
inline constexpr EventName kRelayDraining{"relay_draining", Level::info};
inline constexpr EventName kRelayStopped{"relay_stopped", Level::info};
inline constexpr EventName kDrainAsked{"drain_asked", Level::info};
inline constexpr EventName kDispatched{"dispatched", Level::debug};
inline constexpr EventName kRetried{"retried", Level::info};
inline constexpr EventName kDied{"dead", Level::warn};
inline constexpr EventName kReleased{"released", Level::info};
inline constexpr EventName kReclaimed{"reclaimed", Level::warn};
inline constexpr EventName kLeaseLost{"lease_lost", Level::warn};
inline constexpr EventName kSettleFailed{"settle_failed", Level::warn};
inline constexpr EventName kSettleRefused{"settle_refused", Level::error};
inline constexpr EventName kSettleAbandoned{"settle_abandoned", Level::error};
inline constexpr EventName kClaimFailed{"claim_failed", Level::warn};
inline constexpr EventName kBreakerOpened{"breaker_opened", Level::warn};
inline constexpr EventName kBreakerClosed{"breaker_closed", Level::info};
inline constexpr EventName kRouteStopped{"route_stopped", Level::error};
inline constexpr EventName kUnroutable{"unroutable", Level::warn};
inline constexpr EventName kDuplicateAbsorbed{"duplicate_absorbed", Level::debug};
inline constexpr EventName kSinkDefect{"sink_defect", Level::error};
inline constexpr EventName kSinkUnusable{"sink_unusable", Level::error};
inline constexpr EventName kKeeperFailed{"keeper_failed", Level::warn};
inline constexpr EventName kWakeFailed{"wake_source_failed", Level::warn};
inline constexpr EventName kHousekeepingFailed{"housekeeping_failed", Level::warn};
inline constexpr EventName kPurged{"purged", Level::debug};
inline constexpr EventName kStoreUnreachable{"store_unreachable", Level::warn};

inline constexpr EventName kAllEvents[] = {
    kRelayStarted,    kRelayDraining, kRelayStopped,    kDrainAsked,         kDispatched,
    kRetried,         kDied,          kReleased,        kReclaimed,          kLeaseLost,
    kSettleFailed,    kSettleRefused, kSettleAbandoned, kClaimFailed,        kBreakerOpened,
    kBreakerClosed,   kRouteStopped,  kUnroutable,      kDuplicateAbsorbed,  kSinkDefect,
    kSinkUnusable,    kKeeperFailed,  kWakeFailed,      kHousekeepingFailed, kPurged,
    kStoreUnreachable};

// Level of a name; error for one that is not known, so that it is seen.
[[nodiscard]] constexpr Level level_of(std::string_view name) {
  for (const EventName& event : kAllEvents) {
    if (event.name == name) return event.level;
  }
  return Level::error;
}

}  // namespace pillarbox::relay
