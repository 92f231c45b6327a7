// SPDX-License-Identifier: Apache-2.0
#include "core/decide.h"

#include <algorithm>

#include "core/assert.h"
#include "core/retry.h"

namespace pillarbox::core {

Millis throttle_delay(const Outcome& outcome, const RetryPolicy& retry) noexcept {
  const Millis asked = outcome.retry_after.value_or(retry.base);
  return std::clamp(asked, std::min(retry.base, kThrottleMax), kThrottleMax);
}

std::optional<DeadReason> dead_on_arrival(const ClaimedMessage& message,
                                          const RetryPolicy& retry) noexcept {
  if (!message.defect.empty()) return DeadReason::malformed;
  if (message.expired) return DeadReason::expired;
  // Attempts are counted at claim: being past the cap here means that the last permitted attempt
  // ended without a word.
  if (message.attempts > retry.max_attempts) return DeadReason::poison;
  return std::nullopt;
}

Settlement settlement_for(const Outcome& outcome, const ClaimedMessage& message,
                          const RetryPolicy& retry, KeyPolicy on_dead, Millis back_off,
                          Random& random) {
  Settlement settlement;
  settlement.lease = message.lease;
  settlement.key_policy = on_dead;
  if (outcome.kind != OutcomeKind::delivered && outcome.kind != OutcomeKind::not_sent) {
    settlement.code = outcome.code;
    settlement.error = outcome.error;
  }
  switch (outcome.kind) {
    case OutcomeKind::delivered:
      settlement.kind = SettleKind::dispatched;
      break;
    case OutcomeKind::transient:
      if (message.attempts >= retry.max_attempts) {
        settlement.kind = SettleKind::dead;
        settlement.reason = DeadReason::attempts;
      } else {
        settlement.kind = SettleKind::retry;
        settlement.delay = retry_delay(retry, message.attempts, random);
      }
      break;
    case OutcomeKind::permanent:
      settlement.kind = SettleKind::dead;
      settlement.reason = DeadReason::permanent;
      break;
    case OutcomeKind::throttled:
      settlement.kind = SettleKind::release;
      settlement.delay = throttle_delay(outcome, retry);
      break;
    case OutcomeKind::unavailable:
      settlement.kind = SettleKind::release;
      settlement.delay = back_off;
      break;
    case OutcomeKind::in_flight:
      PILLARBOX_ASSERT(false);
      break;
    case OutcomeKind::not_sent:  // no code: its history has no attempt to tell of
      settlement.kind = SettleKind::release;
      break;
  }
  return settlement;
}

}  // namespace pillarbox::core
