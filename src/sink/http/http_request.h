// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "pillarbox/message.h"
#include "sink/http/header_text.h"
#include "sink/http/http_config.h"
#include "sink/webhook/signer.h"

namespace pillarbox::http {

// What is sent for one message, or for several in one CloudEvents batch. Used again and again: its
// memory stays.
struct HttpRequest {
  static constexpr std::size_t kBodyBytesKept = std::size_t{256} * 1024;  // between requests

  HeaderLines headers;
  std::string body;  // a copy: the request may outlive its message
};

// Everything that does not change from attempt to attempt but the attempt's number.
// `authorization` is the value of that header, or empty.
void build_request(const HttpConfig& config, std::string_view authorization,
                   std::span<const ClaimedMessage> messages, HttpRequest& request);

// Adds webhook-id, webhook-timestamp and webhook-signature over the body as it is sent.
void sign_request(webhook::Signer& signer, std::span<const ClaimedMessage> messages,
                  std::chrono::sys_seconds now, HttpRequest& request);

}  // namespace pillarbox::http
