// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/http_receiver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace pillarbox::testing {
namespace {

void check(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("receiver: ") + what);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

int listen_on(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  check(fd >= 0, "socket");
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  check(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  check(::listen(fd, 512) == 0, "listen");
  return fd;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  check(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return ntohs(address.sin_port);
}

std::string written(const HttpReceiver::Answer& answer) {
  if (answer.what == HttpReceiver::Answer::What::raw) return answer.body;
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " Status\r\n";
  for (const auto& [name, value] : answer.headers)
    out.append(name).append(": ").append(value).append("\r\n");
  const bool has_body = answer.status >= 200 && answer.status != 204 && answer.status != 304;
  if (has_body) out += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  out += "\r\n";
  if (has_body) out += answer.body;
  return out;
}

}  // namespace

struct HttpReceiver::Connection {
  int fd = -1;
  int number = 0;
  std::string in;
  std::string out;
  bool close_when_written = false;
  std::string kept;  // an answer that is not due yet
  bool close_after_kept = false;
  std::chrono::steady_clock::time_point due{};
  std::optional<Request> request;  // whose body is not complete yet
  std::size_t body_bytes = 0;

  ~Connection() { ::close(fd); }
};

std::string HttpReceiver::Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpReceiver::HttpReceiver() : responder_([](const Request&) { return Answer{}; }) { start(); }

HttpReceiver::~HttpReceiver() { stop(); }

void HttpReceiver::respond(Responder responder) {
  const std::lock_guard lock(mutex_);
  responder_ = std::move(responder);
}

void HttpReceiver::hold(bool on) {
  const std::lock_guard lock(mutex_);
  holds_ = on;
  if (!on) check(::write(wake_[1], "x", 1) == 1, "wake");
}

int HttpReceiver::release_due() {
  const std::lock_guard lock(mutex_);
  if (holds_) return -1;
  const auto now = std::chrono::steady_clock::now();
  std::int64_t next = -1;
  for (const auto& [fd, connection] : open_) {
    if (connection->kept.empty()) continue;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(connection->due - now).count();
    if (wait <= 0) {
      connection->out += std::exchange(connection->kept, {});
      connection->close_when_written = connection->close_after_kept;
    } else if (next < 0 || wait < next) {
      next = wait;
    }
  }
  return static_cast<int>(next);
}

void HttpReceiver::start() {
  if (thread_.joinable()) return;
  check(::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");
  listener_ = listen_on(port_);
  port_ = port_of(listener_);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

void HttpReceiver::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  check(::write(wake_[1], "x", 1) == 1, "wake");
  thread_.join();
  open_.clear();
  ::close(listener_);
  ::close(wake_[0]);
  ::close(wake_[1]);
}

std::string HttpReceiver::url(std::string_view host) const {
  return "http://" + std::string(host) + ":" + std::to_string(port_) + "/hooks";
}

std::vector<HttpReceiver::Request> HttpReceiver::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int HttpReceiver::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void HttpReceiver::serve(const std::stop_token& stop) {
  std::vector<pollfd> polled;
  while (!stop.stop_requested()) {
    const int wait_ms = release_due();
    polled.assign({{.fd = wake_[0], .events = POLLIN, .revents = 0},
                   {.fd = listener_, .events = POLLIN, .revents = 0}});
    for (const auto& [fd, connection] : open_) {
      const bool has_output = !connection->out.empty();
      polled.push_back({.fd = fd,
                        .events = static_cast<short>(POLLIN | (has_output ? POLLOUT : 0)),
                        .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), wait_ms) < 0) continue;
    char woken[16];
    if (polled[0].revents != 0 && ::read(wake_[0], woken, sizeof woken) < 0) continue;
    if (polled[1].revents != 0) accept_one();
    for (std::size_t i = 2; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Connection& connection = *open_.at(polled[i].fd);
      bool stays = true;
      if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) stays = read_from(connection);
      if (stays) stays = write_to(connection);
      if (!stays) open_.erase(polled[i].fd);
    }
  }
}

void HttpReceiver::accept_one() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  auto connection = std::make_unique<Connection>();
  connection->fd = fd;
  const std::lock_guard lock(mutex_);
  connection->number = ++accepted_;
  open_[fd] = std::move(connection);
}

bool HttpReceiver::read_from(Connection& connection) {
  char block[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(connection.fd, block, sizeof block);
    if (n > 0) {
      connection.in.append(block, static_cast<std::size_t>(n));
      if (static_cast<std::size_t>(n) < sizeof block) break;
      continue;
    }
    if (n < 0 && errno == EAGAIN) break;
    return false;
  }
  return handle_input(connection);
}

// Takes as many requests from the input as are complete.
bool HttpReceiver::handle_input(Connection& connection) {
  for (;;) {
    if (!connection.request) {
      const auto end = connection.in.find("\r\n\r\n");
      // A TLS greeting is no HTTP and never will be; a server that waited on would hang its client.
      if (end == std::string::npos) return !connection.in.starts_with('\x16');
      std::string_view head = std::string_view(connection.in).substr(0, end);
      Request request;
      const std::string_view first = head.substr(0, head.find("\r\n"));
      request.method = first.substr(0, first.find(' '));
      const auto target = first.find(' ') + 1;
      request.target = first.substr(target, first.find(' ', target) - target);
      request.connection = connection.number;
      while (head.find("\r\n") != std::string_view::npos) {
        head.remove_prefix(head.find("\r\n") + 2);
        const std::string_view line = head.substr(0, head.find("\r\n"));
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return false;
        request.headers.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
      }
      const std::string length = request.header("content-length");
      connection.body_bytes = 0;
      std::from_chars(length.data(), length.data() + length.size(), connection.body_bytes);
      connection.in.erase(0, end + 4);
      connection.request = std::move(request);
    }
    if (connection.in.size() < connection.body_bytes) return true;
    Request request = std::move(*connection.request);
    connection.request.reset();
    request.body = connection.in.substr(0, connection.body_bytes);
    connection.in.erase(0, connection.body_bytes);

    Responder responder;
    {
      const std::lock_guard lock(mutex_);
      responder = responder_;
    }
    const Answer answer = responder(request);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    if (answer.what == Answer::What::cut) return false;
    if (answer.what == Answer::What::silence) continue;
    connection.kept = written(answer);
    connection.close_after_kept = answer.what == Answer::What::raw;
    connection.due = std::chrono::steady_clock::now() + answer.after;
    release_due();
  }
}

bool HttpReceiver::write_to(Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t n =
        ::send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    connection.out.erase(0, static_cast<std::size_t>(n));
  }
  return !connection.close_when_written;
}

}  // namespace pillarbox::testing
