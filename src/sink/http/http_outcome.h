// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "pillarbox/outcome.h"

namespace pillarbox::http {

// What came of one request, as the transport saw it.
struct HttpAnswer {
  int curl_code = 0;             // CURLcode; 0: a whole answer
  int status = 0;                // 0: no status line
  bool request_sent = false;     // some of the request may have reached the other side
  bool address_refused = false;  // we refused to connect to a private address
  bool rest_unread = false;      // the answer's body was too long, the rest was left unread
  std::optional<Millis> retry_after = {};
  std::string endpoint = {};  // host:port, for people
  std::string detail = {};    // the transport's own words
  std::string body = {};      // the beginning of the answer's body
};

struct AnswerPolicy {
  bool redirects_are_transient = false;
  Millis retry_after_max{3'600'000};  // a 503 may ask for 24 times as long
};

// docs/reference/sinks.md has this function as a table.
[[nodiscard]] Outcome outcome_of(const HttpAnswer& answer, const AnswerPolicy& policy);

// The answer is about the endpoint and not about the message: others need not be sent to it now.
[[nodiscard]] bool concerns_endpoint(const Outcome& outcome);

// What the messages become that were not sent because `outcome` concerned the endpoint.
[[nodiscard]] Outcome not_sent_because(const Outcome& outcome);

// The same for messages whose turn did not come in the batch's time.
[[nodiscard]] Outcome not_sent_in_time();

}  // namespace pillarbox::http
