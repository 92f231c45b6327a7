// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_config.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "core/handle.h"
#include "pillarbox/error.h"
#include "sink/http/address_guard.h"
#include "sink/http/header_text.h"
#include "sink/setting_values.h"
#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

using Place = SinkSetting::Place;
using Type = SinkSetting::Type;

constexpr SinkSetting kSettings[] = {
    {Place::sink, "format", Type::choice,
     "raw|cloudevents-binary|cloudevents-structured|cloudevents-batch|standard", "raw",
     "what a request looks like; cloudevents-batch sends many messages in one request"},
    {Place::sink, "sign", Type::choice, "none|standard-webhooks", "none",
     "signs each request with every key in `secrets`"},
    {Place::sink, "connect_timeout", Type::duration, "", "10s",
     "the longest that name resolution, connection and TLS may take together"},
    {Place::sink, "connections", Type::integer, "", "16",
     "requests at once, and connections kept open, of each worker and route"},
    {Place::sink, "allow_private_addresses", Type::boolean, "", "false",
     "allows connections to loopback, private, link-local and other addresses that are not public"},
    {Place::sink, "proxy", Type::text, "", "",
     "URL of a proxy; the environment's proxy variables are not read. A proxy resolves names "
     "itself, so this needs allow_private_addresses = true"},
    {Place::sink, "ca_file", Type::text, "", "",
     "file of certificates to trust instead of the system's"},
    {Place::sink, "idempotency_key", Type::boolean, "", "false",
     "sends the message_id as Idempotency-Key too"},
    {Place::sink, "source", Type::text, "", "",
     "CloudEvents' source, a URI reference; empty: pillarbox/ and the outbox's name"},
    {Place::sink, "retry_after_max", Type::duration, "", "1h",
     "the longest wait that an answer may ask for; a 503 may ask for 24 times as long"},
    {Place::route, "redirects", Type::choice, "permanent|transient", "permanent",
     "what a 3xx answer means; redirects are never followed"},
};

using UrlHandle = core::Handle<CURLU, &curl_url_cleanup>;

[[noreturn]] void refuse_url(const SinkSettings& settings, const std::string& why) {
  throw Error(ErrorKind::invalid_input, "PBX-5003",
              "sink." + settings.name + ".url " + why +
                  "; an HTTP sink's URL looks like \"https://partner.example/hooks\"");
}

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string out(text);
  curl_free(text);
  return out;
}

bool is_private_literal(std::string host) {
  if (sink::equals_ignoring_case(host, "localhost") || host.ends_with(".localhost")) return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  sockaddr_storage address{};
  sockaddr_in in{};
  sockaddr_in6 in6{};
  if (inet_pton(AF_INET, host.c_str(), &in.sin_addr) == 1) {
    in.sin_family = AF_INET;
    std::memcpy(&address, &in, sizeof in);
  } else if (inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    std::memcpy(&address, &in6, sizeof in6);
  } else {
    return false;  // a name: judged when it is resolved
  }
  return !is_public(reinterpret_cast<const sockaddr&>(address));
}

void read_url(const SinkSettings& settings, HttpConfig& config) {
  const UrlHandle url(curl_url());
  if (!url) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, settings.url.c_str(), 0);
  if (code != CURLUE_OK || settings.url.find('\0') != std::string::npos) {
    refuse_url(settings, std::string("cannot be read (") + curl_url_strerror(code) + ")");
  }
  const std::string scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  if (scheme != "http" && scheme != "https") refuse_url(settings, "is no HTTP address");
  config.user = part(url.get(), CURLUPART_USER, CURLU_URLDECODE).value_or("");
  config.url_password = part(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  const std::string host = part(url.get(), CURLUPART_HOST).value_or("");
  config.endpoint = host + ":" + part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("");
  config.host_is_private_literal = is_private_literal(host);
  config.url = part(url.get(), CURLUPART_URL).value_or("");
  if (config.url.empty()) refuse_url(settings, "cannot be read");
}

Format read_format(const sink::SettingValues& values) {
  const std::string name = values.choice("format");
  if (name == "cloudevents-binary") return Format::cloudevents_binary;
  if (name == "cloudevents-structured") return Format::cloudevents_structured;
  if (name == "cloudevents-batch") return Format::cloudevents_batch;
  if (name == "standard") return Format::standard;
  return Format::raw;
}

std::string read_source(const sink::SettingValues& values, const SinkSettings& settings) {
  std::string source = values.text("source");
  for (const char c : source) {
    if (c <= 0x20 || c >= 0x7F || std::strchr("\"<>\\^`{|}", c) != nullptr) {
      values.refuse("source", "is no URI reference: write it percent-encoded, such as \"/orders\"");
    }
  }
  if (!source.empty()) return source;
  source = "pillarbox/";
  append_path_segment(source, settings.outbox);
  return source;
}

}  // namespace

std::span<const SinkSetting> http_settings() noexcept { return kSettings; }

HttpConfig read_config(const SinkSettings& settings) {
  using std::chrono::hours;
  const sink::SettingValues values(settings, kSettings);
  HttpConfig config;
  read_url(settings, config);
  config.format = read_format(values);
  config.signs = values.choice("sign") == "standard-webhooks";
  config.sends_idempotency_key = values.boolean("idempotency_key");
  config.allows_private_addresses = values.boolean("allow_private_addresses");
  config.connect_timeout = values.duration("connect_timeout", Millis{1}, hours{24});
  config.connections = static_cast<std::size_t>(values.integer("connections", 1, 1'000));
  config.proxy = values.text("proxy");
  config.ca_file = values.text("ca_file");
  config.source = read_source(values, settings);
  config.answers.redirects_are_transient = values.choice("redirects") == "transient";
  config.answers.retry_after_max = values.duration("retry_after_max", Millis{0}, hours{24 * 365});
  config.secrets = settings.secrets;
  config.password = settings.password;
  if (config.signs && config.secrets.empty()) {
    values.refuse("secrets", "is missing: sign = \"standard-webhooks\" needs at least one key");
  }
  if (!config.signs && !config.secrets.empty()) {
    values.refuse("sign", "is \"none\", yet there are secrets; set it to \"standard-webhooks\"");
  }
  if (!config.proxy.empty() && !config.allows_private_addresses) {
    values.refuse("proxy",
                  "is set, and a proxy resolves names itself, so private addresses cannot be "
                  "refused; set allow_private_addresses = true as well");
  }
  return config;
}

}  // namespace pillarbox::http
