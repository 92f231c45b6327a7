// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_request.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "core/assert.h"
#include "core/units.h"
#include "core/utf8.h"
#include "json/json.h"
#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

constexpr std::size_t kExtensionNameChars = 20;

std::string_view find_header(const Headers& headers, std::string_view name) noexcept {
  for (const auto& [key, value] : headers) {
    if (sink::equals_ignoring_case(key, name)) return value;
  }
  return {};
}

// Twenty digits: CloudEvents' `sequence` is ordered as text.
std::string sequence_of(RowId id) {
  std::array<char, 32> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%020lld", static_cast<long long>(to_int(id)));
  return {text.data(), static_cast<std::size_t>(size)};
}

// The type that the message claims to be, where that can stand in a header at all.
std::string_view content_type_of(const ClaimedMessage& message) noexcept {
  const std::string_view type = message.content_type;
  const bool is_clean =
      !type.empty() && type.front() != ' ' && type.back() != ' ' &&
      std::all_of(type.begin(), type.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  return is_clean ? type : "application/octet-stream";
}

struct Attribute {
  std::string_view name;
  std::string value;
};

// CloudEvents' context attributes but specversion and datacontenttype; absent ones are left out.
std::array<Attribute, 9> attributes_of(const HttpConfig& config, const ClaimedMessage& message) {
  return {{{"id", message.message_id.to_string()},
           {"source", config.source},
           {"type", message.job_type},
           {"time", core::format_time(message.occurred_at)},
           {"partitionkey", message.ordering_key},
           {"sequence", sequence_of(message.lease.id)},
           {"correlationid", message.correlation_id},
           {"traceparent", std::string(find_header(message.headers, "traceparent"))},
           {"tracestate", std::string(find_header(message.headers, "tracestate"))}}};
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  json::append_quoted(out, value);
}

// The payload as a member: JSON is the value itself, byte for byte; other text a string; what is
// neither, or says JSON and is none, goes as base64.
void append_data(std::string& out, const ClaimedMessage& message) {
  if (json::is_json_type(message.content_type) && json::is_valid(message.payload)) {
    out += ",\"data\":";
    out += message.payload;
    return;
  }
  if (!json::is_json_type(message.content_type) && sink::is_text_type(message.content_type) &&
      core::utf8_length(message.payload)) {
    append_member(out, "data", message.payload);
    return;
  }
  out += ",\"data_base64\":\"";
  sink::append_base64(out, message.payload);
  out += '"';
}

bool is_extension_name(std::string_view name, const std::array<Attribute, 9>& taken) noexcept {
  constexpr std::array<std::string_view, 6> kReserved = {
      "specversion", "datacontenttype", "dataschema", "subject", "data", "database64"};
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kExtensionNameChars &&
         std::all_of(name.begin(), name.end(), is_allowed) &&
         std::none_of(taken.begin(), taken.end(),
                      [&](const Attribute& attribute) { return attribute.name == name; }) &&
         std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

// One event in JSON. Inside a batch no header can carry the message's own headers, so those that
// may be extension attributes become such.
void append_event(std::string& out, const HttpConfig& config, const ClaimedMessage& message) {
  const auto attributes = attributes_of(config, message);
  out += "{\"specversion\":\"1.0\"";
  for (const Attribute& attribute : attributes) {
    if (!attribute.value.empty()) append_member(out, attribute.name, attribute.value);
  }
  if (config.format == Format::cloudevents_batch) {
    for (const auto& [name, value] : message.headers) {
      if (is_extension_name(name, attributes)) append_member(out, name, value);
    }
  }
  append_member(out, "datacontenttype", content_type_of(message));
  append_data(out, message);
  out += '}';
}

// Facts that every request carries about its one message, whatever the format.
void add_own_headers(const HttpConfig& config, const ClaimedMessage& message,
                     HeaderLines& headers) {
  const std::string id = message.message_id.to_string();
  headers.add("pillarbox-message-id", id);
  headers.add_percent_encoded("pillarbox-job-type", message.job_type);
  headers.add("pillarbox-attempt", std::to_string(message.attempts));
  if (message.life > 0) headers.add("pillarbox-life", std::to_string(message.life));
  if (!message.correlation_id.empty()) {
    headers.add_percent_encoded("pillarbox-correlation-id", message.correlation_id);
  }
  if (!message.ordering_key.empty()) {
    headers.add_percent_encoded("pillarbox-ordering-key", message.ordering_key);
  }
  if (config.sends_idempotency_key) headers.add("Idempotency-Key", id);
}

void add_message_headers(const ClaimedMessage& message, HeaderLines& headers) {
  for (const auto& [name, value] : message.headers) {
    if (may_forward(name)) headers.add(name, value);
  }
}

void build_binary(const HttpConfig& config, const ClaimedMessage& message, HttpRequest& request) {
  request.headers.add("Content-Type", content_type_of(message));
  request.headers.add("ce-specversion", "1.0");
  for (const Attribute& attribute : attributes_of(config, message)) {
    if (attribute.value.empty()) continue;
    std::string name = "ce-";
    name += attribute.name;
    request.headers.add_percent_encoded(name, attribute.value);
  }
  request.body += message.payload;
}

void build_standard(const ClaimedMessage& message, HttpRequest& request) {
  request.headers.add("Content-Type", "application/json");
  request.body = "{\"type\":";
  json::append_quoted(request.body, message.job_type);
  append_member(request.body, "timestamp", core::format_time(message.occurred_at));
  append_data(request.body, message);
  request.body += '}';
}

void build_batch(const HttpConfig& config, std::span<const ClaimedMessage> messages,
                 HttpRequest& request) {
  request.headers.add("Content-Type", "application/cloudevents-batch+json; charset=utf-8");
  request.body = "[";
  for (const ClaimedMessage& message : messages) {
    if (request.body.size() > 1) request.body += ',';
    append_event(request.body, config, message);
  }
  request.body += ']';
}

// The same messages sent again have the same id, so a receiver recognises the repeat.
std::string batch_id(std::span<const ClaimedMessage> messages) {
  std::string ids;
  for (const ClaimedMessage& message : messages) {
    for (const std::uint8_t byte : message.message_id.bytes()) ids += static_cast<char>(byte);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  PILLARBOX_ASSERT(
      EVP_Digest(ids.data(), ids.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "batch_";
  for (std::size_t i = 0; i < 16; ++i) {
    out += kHex[digest[i] >> 4U];
    out += kHex[digest[i] & 15U];
  }
  return out;
}

}  // namespace

void build_request(const HttpConfig& config, std::string_view authorization,
                   std::span<const ClaimedMessage> messages, HttpRequest& request) {
  PILLARBOX_ASSERT(!messages.empty());
  request.headers.clear();
  request.body.clear();
  // One large message must not cost its memory for as long as the connection lives.
  if (request.body.capacity() > HttpRequest::kBodyBytesKept) request.body.shrink_to_fit();
  if (!authorization.empty()) request.headers.add("Authorization", authorization);
  if (config.format == Format::cloudevents_batch) {
    build_batch(config, messages, request);
    return;
  }
  PILLARBOX_ASSERT(messages.size() == 1);
  const ClaimedMessage& message = messages.front();
  switch (config.format) {
    case Format::raw:
      request.headers.add("Content-Type", content_type_of(message));
      request.body += message.payload;
      break;
    case Format::cloudevents_binary:
      build_binary(config, message, request);
      break;
    case Format::cloudevents_structured:
      request.headers.add("Content-Type", "application/cloudevents+json; charset=utf-8");
      append_event(request.body, config, message);
      break;
    case Format::standard:
      build_standard(message, request);
      break;
    case Format::cloudevents_batch:
      break;
  }
  add_own_headers(config, message, request.headers);
  add_message_headers(message, request.headers);
}

void sign_request(webhook::Signer& signer, std::span<const ClaimedMessage> messages,
                  std::chrono::sys_seconds now, HttpRequest& request) {
  const std::string id =
      messages.size() == 1 ? messages.front().message_id.to_string() : batch_id(messages);
  const std::string timestamp = std::to_string(now.time_since_epoch().count());
  request.headers.add("webhook-id", id);
  request.headers.add("webhook-timestamp", timestamp);
  request.headers.add("webhook-signature", signer.sign(id, timestamp, request.body));
}

}  // namespace pillarbox::http
