// SPDX-License-Identifier: Apache-2.0
// pillarbox::validate(): the checks that every store's SQL makes too, made before any SQL so that
// the caller's transaction stays usable.
#include <algorithm>
#include <cctype>

#include "core/utf8.h"
#include "json/json.h"
#include "pillarbox/error.h"

namespace pillarbox {
namespace {

[[noreturn]] void refuse(std::string_view code, const std::string& what) {
  throw Error(ErrorKind::invalid_input, code, "message refused: " + what);
}

enum class Controls { refused, allowed };

void check_text(std::string_view field, std::string_view text, std::size_t chars_max,
                Controls controls) {
  const auto length = core::utf8_length(text);
  if (!length) refuse("PBX-1002", std::string(field) + " is not valid UTF-8");
  if (*length > chars_max) {
    refuse("PBX-1003", std::string(field) + " has " + std::to_string(*length) +
                           " characters, at most " + std::to_string(chars_max) + " are allowed");
  }
  const auto bad = std::find_if(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0 || (controls == Controls::refused && (byte < 0x20 || byte == 0x7F));
  });
  if (bad != text.end()) {
    refuse("PBX-1004", std::string(field) + " holds a control character at byte " +
                           std::to_string(bad - text.begin()) + "; none is allowed");
  }
}

void check_headers(const Headers& headers) {
  std::size_t bytes = 2;
  for (auto it = headers.begin(); it != headers.end(); ++it) {
    if (it->first.empty()) refuse("PBX-1005", "a header has no name");
    check_text("a header's name", it->first, Limits::kJobTypeChars, Controls::refused);
    check_text("header '" + it->first + "'", it->second, Limits::kHeadersBytes, Controls::allowed);
    bytes += it->first.size() + it->second.size() + 6;
    const bool repeated = std::any_of(headers.begin(), it,
                                      [&](const auto& other) { return other.first == it->first; });
    if (repeated) refuse("PBX-1005", "header '" + it->first + "' is given twice");
  }
  if (bytes > Limits::kHeadersBytes) {
    refuse("PBX-1006", "the headers have " + std::to_string(bytes) + " bytes, at most " +
                           std::to_string(Limits::kHeadersBytes) + " are allowed");
  }
}

}  // namespace

void validate(const NewMessage& message) {
  if (message.job_type.empty())
    refuse("PBX-1001", "job_type is empty; give a logical name such as email.welcome.v1");
  check_text("job_type", message.job_type, Limits::kJobTypeChars, Controls::refused);
  check_text("content_type", message.content_type, Limits::kContentTypeChars, Controls::refused);
  if (message.content_type.empty())
    refuse("PBX-1001", "content_type is empty; say application/octet-stream for bytes");
  check_text("correlation_id", message.correlation_id, Limits::kCorrelationIdChars,
             Controls::refused);
  check_text("ordering_key", message.ordering_key, Limits::kOrderingKeyChars, Controls::refused);
  check_headers(message.headers);
  if (message.payload.size() > Limits::kPayloadBytes) {
    refuse("PBX-1007", "the payload has " + std::to_string(message.payload.size()) +
                           " bytes, at most " + std::to_string(Limits::kPayloadBytes) +
                           " are allowed; store it elsewhere and send its id");
  }
  if (message.delay < Millis{0} || message.delay > Limits::kDelayMax) {
    refuse("PBX-1008",
           "delay must be from 0 to " + std::to_string(Limits::kDelayMax.count()) + " ms");
  }
  if (message.expires_in &&
      (*message.expires_in <= Millis{0} || *message.expires_in > Limits::kDelayMax)) {
    refuse("PBX-1008",
           "expires_in must be from 1 to " + std::to_string(Limits::kDelayMax.count()) + " ms");
  }
  if (json::is_json_type(message.content_type)) {
    if (!core::utf8_length(message.payload))
      refuse("PBX-1002", "the payload is not valid UTF-8, which JSON must be");
    if (!json::is_valid(message.payload)) {
      refuse("PBX-1009", "the payload is not JSON though content_type is " + message.content_type);
    }
  }
}

}  // namespace pillarbox
