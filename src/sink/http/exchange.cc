// SPDX-License-Identifier: Apache-2.0
#include "sink/http/exchange.h"

#include <sys/socket.h>

#include <algorithm>
#include <new>

#include "core/assert.h"
#include "sink/http/address_guard.h"
#include "sink/http/retry_after.h"
#include "sink/wire_text.h"

namespace pillarbox::http {
namespace {

constexpr std::size_t kBodyBytesKept = std::size_t{2} * 1024;
constexpr std::size_t kBodyBytesRead = std::size_t{64} * 1024;
constexpr std::size_t kHeaderValueBytes = 128;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void init_curl() {
  static const CURLcode kCode = curl_global_init(CURL_GLOBAL_DEFAULT);
  PILLARBOX_ASSERT(kCode == CURLE_OK);
}

Exchange::Exchange(const HttpConfig& config) : config_(config), easy_(curl_easy_init()) {
  if (!easy_) throw std::bad_alloc();
  CURL* const easy = easy_.get();
  const auto set = [&](CURLoption option, auto value) {
    const CURLcode code = curl_easy_setopt(easy, option, value);
    PILLARBOX_ASSERT(code == CURLE_OK);
  };
  set(CURLOPT_URL, config.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, config.proxy.c_str());  // empty: none, whatever the environment says
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT,
      1L);  // a name server that hangs must not hold a delivery past its deadline
  set(CURLOPT_USERAGENT, "Pillarbox/" PILLARBOX_VERSION);
  if (!config.ca_file.empty()) set(CURLOPT_CAINFO, config.ca_file.c_str());
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_OPENSOCKETFUNCTION, &Exchange::on_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
}

void Exchange::reset(Millis timeout) {
  address_refused_ = false;
  rest_unread_ = false;
  header_ended_ = false;
  body_bytes_ = 0;
  body_.clear();
  retry_after_.clear();
  date_.clear();
  error_[0] = '\0';
  began_ = std::chrono::steady_clock::now();
  timeout = std::max(timeout, Millis{1});  // libcurl takes 0 for its own default
  give_up_at_ = began_ + timeout;
  curl_easy_setopt(easy_.get(), CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::min(timeout, config_.connect_timeout).count()));
}

void Exchange::arm(std::size_t first, std::size_t count, Lease lease, Millis timeout) {
  first_ = first;
  count_ = count;
  lease_ = lease;
  is_late_ = false;
  reset(timeout);
  request_.headers.leave_out("Expect");  // a large body must not wait for "100 Continue"
  lines_.resize(request_.headers.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    // libcurl only reads the list; the lines live as long as the request does.
    lines_[i].data = const_cast<char*>(request_.headers.line(i));
    lines_[i].next = i + 1 < lines_.size() ? &lines_[i + 1] : nullptr;
  }
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, lines_.data());
  curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request_.body.size()));
  curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDS,
                   request_.body.empty() ? "" : request_.body.data());
}

void Exchange::arm_probe(Millis timeout) {
  reset(timeout);
  curl_easy_setopt(easy_.get(), CURLOPT_TIMEOUT_MS,
                   std::max(1L, static_cast<long>(timeout.count())));
  curl_easy_setopt(easy_.get(), CURLOPT_CONNECT_ONLY, 1L);
}

HttpAnswer Exchange::answer(CURLcode code) const {
  long status = 0;
  long sent = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &sent);
  // A connection that ends inside the header is a whole answer to libcurl; to us it is a cut one.
  if (code == CURLE_OK && !header_ended_) code = CURLE_PARTIAL_FILE;
  return HttpAnswer{.curl_code = code,
                    .status = static_cast<int>(status),
                    .request_sent = sent > 0,
                    .address_refused = address_refused_,
                    .rest_unread = rest_unread_,
                    .retry_after = parse_retry_after(retry_after_, date_),
                    .endpoint = config_.endpoint,
                    .detail = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code),
                    .body = body_};
}

std::size_t Exchange::on_header(char* text, std::size_t size, std::size_t count,
                                void* self) noexcept {
  static_cast<Exchange*>(self)->take_header({text, size * count});
  return size * count;
}

void Exchange::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // an interim answer's header is not the answer's
    retry_after_.clear();
    date_.clear();
    header_ended_ = false;
    return;
  }
  if (trimmed(line).empty()) header_ended_ = true;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (value.size() > kHeaderValueBytes) return;
  if (sink::equals_ignoring_case(name, "retry-after")) retry_after_ = value;
  if (sink::equals_ignoring_case(name, "date")) date_ = value;
}

std::size_t Exchange::on_body(char* text, std::size_t size, std::size_t count,
                              void* self) noexcept {
  auto& exchange = *static_cast<Exchange*>(self);
  const std::size_t bytes = size * count;
  exchange.body_bytes_ += bytes;
  if (exchange.body_bytes_ > kBodyBytesRead) {
    exchange.rest_unread_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  if (exchange.body_.size() < kBodyBytesKept) {
    exchange.body_.append(text, std::min(bytes, kBodyBytesKept - exchange.body_.size()));
  }
  return bytes;
}

curl_socket_t Exchange::on_socket(void* self, curlsocktype, curl_sockaddr* address) noexcept {
  auto& exchange = *static_cast<Exchange*>(self);
  // Here, and not when the name was looked at: a name may resolve to another address each time.
  if (!exchange.config_.allows_private_addresses && !is_public(address->addr)) {
    exchange.address_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace pillarbox::http
