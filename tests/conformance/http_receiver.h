// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pillarbox::testing {

// A small HTTP/1.1 server on loopback that can also misbehave. One thread serves all connections.
class HttpReceiver {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
    std::string body;
    int connection = 0;  // the how-manieth that was accepted

    // Empty when absent; with repeats the first.
    [[nodiscard]] std::string header(std::string_view name) const;
  };

  struct Answer {
    enum class What {
      reply,    // status, headers, body
      raw,      // `body` as it is, then the connection is closed
      cut,      // the connection is closed without a word
      silence,  // nothing; the connection stays open
    };
    What what = What::reply;
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
    std::chrono::milliseconds after{0};  // how long it is kept back; other connections go on
  };
  using Responder = std::function<Answer(const Request&)>;  // called on the server's thread

  HttpReceiver();  // started, on a port of its own, answers 200
  ~HttpReceiver();
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  void respond(Responder responder);
  void hold(bool on);  // keeps all answers back until it is off again
  void stop();         // closes all connections and the port
  void start();        // the same port again

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url(std::string_view host = "127.0.0.1") const;
  [[nodiscard]] std::vector<Request> requests() const;
  [[nodiscard]] int connections() const;  // accepted so far

 private:
  struct Connection;
  void serve(const std::stop_token& stop);
  void accept_one();
  [[nodiscard]] bool read_from(Connection& connection);  // false: close it
  [[nodiscard]] bool handle_input(Connection& connection);
  [[nodiscard]] bool write_to(Connection& connection);
  int release_due();  // hands kept answers to their connections; ms until the next one, or -1

  int port_ = 0;
  int wake_[2] = {-1, -1};
  int listener_ = -1;
  std::map<int, std::unique_ptr<Connection>> open_;  // own thread, or stopped

  mutable std::mutex mutex_;  // guards what follows
  Responder responder_;
  std::vector<Request> requests_;
  int accepted_ = 0;
  bool holds_ = false;

  std::jthread thread_;
};

}  // namespace pillarbox::testing
