// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_outcome.h"

#include <curl/curl.h>

#include <algorithm>

#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

constexpr int kRetryAfterFactorOf503 = 24;
constexpr std::size_t kErrorBytesMax = 2'000;

std::string error_text(std::string what, const HttpAnswer& answer) {
  const std::string& more = answer.body.empty() ? answer.detail : answer.body;
  if (more.empty()) return what;
  what += ": ";
  sink::append_printable(what, more, kErrorBytesMax);
  return what;
}

Outcome of_status(const HttpAnswer& answer, const AnswerPolicy& policy) {
  const int status = answer.status;
  if (status >= 200 && status < 300) return Outcome::delivered();

  const std::string code = "http_" + std::to_string(status);
  std::string error =
      error_text("HTTP " + std::to_string(status) + " from " + answer.endpoint, answer);
  std::optional<Millis> wait = answer.retry_after;
  if (wait) {
    wait = std::min(*wait, policy.retry_after_max * (status == 503 ? kRetryAfterFactorOf503 : 1));
  }
  if (status >= 300 && status < 400) {
    error += " (redirects are never followed; set the sink's url to where it points)";
    return policy.redirects_are_transient ? Outcome::transient(code, error)
                                          : Outcome::permanent(code, error);
  }
  switch (status) {
    case 408:
    case 425:
    case 429:
      return Outcome::throttled(code, error, wait);
    case 410: {
      Outcome outcome = Outcome::permanent(code, error);
      outcome.stops_route = true;
      return outcome;
    }
    case 401:
    case 403: {
      Outcome outcome = Outcome::unavailable(code, error + " (check the sink's credentials)");
      outcome.stops_route = true;
      return outcome;
    }
    case 407:
      return Outcome::unavailable(code, error + " (check the proxy's credentials)");
    default:
      break;
  }
  if (status >= 400 && status < 500) return Outcome::permanent(code, error);
  if (status >= 500 && status < 600 && wait) return Outcome::throttled(code, error, wait);
  return Outcome::transient(code, error);  // 5xx, and numbers that are no HTTP status
}

Outcome of_failure(const HttpAnswer& answer) {
  const std::string code = "curl_" + std::to_string(answer.curl_code);
  if (answer.address_refused && !answer.request_sent) {
    return Outcome::unavailable(
        "private_address",
        answer.endpoint +
            " has an address that is not public, and no connection was made; if that is meant, set "
            "allow_private_addresses = true on this sink");
  }
  switch (answer.curl_code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_USE_SSL_FAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
      return Outcome::unavailable(code, error_text("no connection to " + answer.endpoint, answer));
    case CURLE_OPERATION_TIMEDOUT:
      return answer.request_sent
                 ? Outcome::transient("timeout", answer.endpoint + " did not answer in time")
                 : Outcome::unavailable("connect_timeout",
                                        answer.endpoint + " could not be connected to in time");
    default:
      // Reset, cut, or nonsense: perhaps it was taken, perhaps not; the repeat carries the same id.
      return Outcome::transient(code,
                                error_text("no usable answer from " + answer.endpoint, answer));
  }
}

}  // namespace

Outcome outcome_of(const HttpAnswer& answer, const AnswerPolicy& policy) {
  // A status line in front of a cut body is no acknowledgement: a proxy writes it before it has
  // heard everything. Only where we stopped reading does the status alone decide.
  if (answer.curl_code != CURLE_OK && !(answer.rest_unread && answer.status != 0)) {
    return of_failure(answer);
  }
  return of_status(answer, policy);
}

bool concerns_endpoint(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::unavailable || outcome.stops_route ||
         (outcome.kind == OutcomeKind::throttled &&
          (outcome.retry_after || outcome.code == "http_429"));
}

Outcome not_sent_because(const Outcome& outcome) {
  return Outcome::not_sent("not sent, for another message had this answer: " + outcome.error);
}

Outcome not_sent_in_time() {
  return Outcome::not_sent("the time for this batch was over before this message's turn came");
}

}  // namespace pillarbox::http
