// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pillarbox/message.h"

namespace pillarbox {

enum class OutcomeKind {
  delivered,    // durably acknowledged
  transient,    // may work later: timeout, 5xx, deadlock, nack
  permanent,    // cannot work: 4xx, unknown method, too large for the sink
  throttled,    // the sink says when; the attempt is given back
  unavailable,  // the sink as a whole is down; the attempt is given back and the breaker hears of
                // it
  not_sent,     // nothing of it was sent, and no fault of the sink's: its turn did not come, or the
                // answer to another message said that it would be in vain. Goes back as it was.
  in_flight,    // not known yet: the call goes on, and Sink::collect() will tell
};

[[nodiscard]] std::string_view to_string(OutcomeKind kind) noexcept;

// What became of one message in one delivery. Texts are for operators: no payload, no credential;
// they are cut to 2000 bytes when stored.
struct Outcome {
  OutcomeKind kind = OutcomeKind::transient;
  std::string code = "no_answer";  // short and countable: "http_503", "curl_28"
  std::string error = "the sink gave no answer";
  std::optional<Millis> retry_after = {};  // throttled: the sink's own word
  bool stops_route = false;  // the endpoint asked for silence (HTTP 410) or refused our credentials
  bool duplicate_absorbed = false;  // delivered, and the sink had it before

  [[nodiscard]] static Outcome delivered() {
    return {OutcomeKind::delivered, "", "", {}, false, false};
  }
  [[nodiscard]] static Outcome transient(std::string code, std::string error) {
    return {OutcomeKind::transient, std::move(code), std::move(error), {}, false, false};
  }
  [[nodiscard]] static Outcome permanent(std::string code, std::string error) {
    return {OutcomeKind::permanent, std::move(code), std::move(error), {}, false, false};
  }
  [[nodiscard]] static Outcome throttled(std::string code, std::string error,
                                         std::optional<Millis> retry_after) {
    return {OutcomeKind::throttled, std::move(code), std::move(error), retry_after, false, false};
  }
  [[nodiscard]] static Outcome unavailable(std::string code, std::string error) {
    return {OutcomeKind::unavailable, std::move(code), std::move(error), {}, false, false};
  }
  [[nodiscard]] static Outcome not_sent(std::string error) {
    return {OutcomeKind::not_sent, "not_sent", std::move(error), {}, false, false};
  }
  [[nodiscard]] static Outcome in_flight() {
    return {OutcomeKind::in_flight, "in_flight", "", {}, false, false};
  }
};

}  // namespace pillarbox
