// SPDX-License-Identifier: Apache-2.0
#include "sink/file/json_line.h"

#include <algorithm>

#include "core/units.h"
#include "core/utf8.h"
#include "json/json.h"
#include "sink/wire_text.h"

namespace pillarbox::file_sink {
namespace {

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  json::append_quoted(out, value);
}

// A JSON object is whole when its first brace is closed by its last byte.
bool is_whole_object(std::string_view text) noexcept {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return i + 1 == text.size();
  }
  return false;
}

}  // namespace

void append_line(std::string& out, const ClaimedMessage& message, std::string_view outbox) {
  out += kLineStart;
  out += message.message_id.to_string();
  out += '"';
  append_member(out, "job_type", message.job_type);
  append_member(out, "content_type", message.content_type);
  if (sink::is_text_type(message.content_type) && core::utf8_length(message.payload)) {
    append_member(out, "payload", message.payload);
  } else {
    out += ",\"payload_base64\":\"";
    sink::append_base64(out, message.payload);
    out += '"';
  }
  out += ",\"headers\":{";
  for (std::size_t i = 0; i < message.headers.size(); ++i) {
    if (i > 0) out += ',';
    json::append_quoted(out, message.headers[i].first);
    out += ':';
    json::append_quoted(out, message.headers[i].second);
  }
  out += '}';
  if (!message.correlation_id.empty()) append_member(out, "correlation_id", message.correlation_id);
  if (!message.ordering_key.empty()) append_member(out, "ordering_key", message.ordering_key);
  append_member(out, "outbox", outbox);
  append_member(out, "occurred_at", core::format_time(message.occurred_at));
  out += ",\"id\":\"" + std::to_string(to_int(message.lease.id)) + '"';
  out += ",\"attempts\":" + std::to_string(message.attempts);
  out += ",\"life\":" + std::to_string(message.life);
  out += "}\n";
}

Tail judge_tail(std::string_view tail) noexcept {
  // After a power cut the file's length may be on disk before the bytes are: they read as zeros.
  const auto zeros = tail.find('\0');
  const std::string_view text = tail.substr(0, zeros);
  const std::string_view start = text.substr(0, std::min(text.size(), kLineStart.size()));
  const bool is_ours = start == kLineStart.substr(0, start.size());
  if (!is_ours) return Tail::keep;
  return zeros == std::string_view::npos && is_whole_object(text) ? Tail::keep : Tail::cut_away;
}

}  // namespace pillarbox::file_sink
