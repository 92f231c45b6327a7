// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <array>
#include <string>
#include <vector>

#include "core/handle.h"
#include "pillarbox/sink.h"
#include "sink/http/http_request.h"

namespace pillarbox::http {

using EasyHandle = core::Handle<CURL, &curl_easy_cleanup>;

// Initialises libcurl once for the process.
void init_curl();

// One request and its answer at a time, with a libcurl handle that is used again and again. It must
// not move: libcurl knows its address.
class Exchange {
 public:
  explicit Exchange(const HttpConfig& config);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] HttpRequest& request() noexcept { return request_; }
  [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }

  // Makes the built request ready to run: `first` and `count` are its messages in the batch,
  // `lease` that of the first. Its end at give_up_at() is the caller's to see to: libcurl would
  // call a time-out, when it is asked late, what has been answered long ago.
  void arm(std::size_t first, std::size_t count, Lease lease, Millis timeout);
  // The same without a request: connect only.
  void arm_probe(Millis timeout);

  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] Instant began() const noexcept { return began_; }
  [[nodiscard]] Instant give_up_at() const noexcept { return give_up_at_; }

  // The batch that it was part of has been answered: what comes of it is told by its lease.
  void leave_in_flight() noexcept { is_late_ = true; }
  [[nodiscard]] bool is_late() const noexcept { return is_late_; }
  [[nodiscard]] Lease lease() const noexcept { return lease_; }

  // What came of it; `code` is libcurl's result, CURLE_OPERATION_TIMEDOUT when we gave up.
  [[nodiscard]] HttpAnswer answer(CURLcode code) const;

 private:
  static std::size_t on_header(char* text, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* text, std::size_t size, std::size_t count, void* self) noexcept;
  static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address) noexcept;
  void take_header(std::string_view line);
  void reset(Millis timeout);

  const HttpConfig& config_;
  EasyHandle easy_;
  HttpRequest request_;
  std::vector<curl_slist> lines_;  // point into request_.headers
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  Lease lease_{};
  Instant began_{};
  Instant give_up_at_{};
  bool is_late_ = false;

  // of the answer
  bool address_refused_ = false;
  bool rest_unread_ = false;
  bool header_ended_ = false;
  std::size_t body_bytes_ = 0;
  std::string body_;
  std::string retry_after_;
  std::string date_;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace pillarbox::http
