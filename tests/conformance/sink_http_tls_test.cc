// SPDX-License-Identifier: Apache-2.0
// Whom the HTTP sink believes that it talks to.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/handle.h"
#include "pillarbox/error.h"
#include "sink/http/factory.h"

namespace pillarbox::testing {
namespace {

using core::Handle;
using std::chrono::steady_clock;

struct Identity {
  Handle<EVP_PKEY, &EVP_PKEY_free> key;
  Handle<X509, &X509_free> certificate;
};

// A certificate that signs itself, for `subject_alt_name` such as "IP:127.0.0.1".
Identity make_identity(const char* subject_alt_name) {
  Identity id;
  id.key.reset(EVP_EC_gen("P-256"));
  id.certificate.reset(X509_new());
  X509* const x = id.certificate.get();
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(x), 86'400);
  X509_set_pubkey(x, id.key.get());
  X509_NAME* const name = X509_get_subject_name(x);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("pillarbox test"), -1, -1, 0);
  X509_set_issuer_name(x, name);
  const Handle<X509_EXTENSION, &X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject_alt_name));
  X509_add_ext(x, extension.get(), -1);
  if (X509_sign(x, id.key.get(), EVP_sha256()) == 0) std::abort();
  return id;
}

// Answers 200 to whatever comes after a handshake, one connection at a time.
class TlsReceiver {
 public:
  explicit TlsReceiver(const char* subject_alt_name)
      : identity_(make_identity(subject_alt_name)), context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), identity_.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity_.key.get());
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~TlsReceiver() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  TlsReceiver(const TlsReceiver&) = delete;
  TlsReceiver& operator=(const TlsReceiver&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/hooks"; }
  int requests() const { return requests_; }

  std::string write_certificate(const std::filesystem::path& path) const {
    const Handle<std::FILE, &std::fclose> file(std::fopen(path.c_str(), "w"));
    PEM_write_X509(file.get(), identity_.certificate.get());
    return path.string();
  }

 private:
  void serve() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const Handle<SSL, &SSL_free> ssl(SSL_new(context_.get()));
      SSL_set_fd(ssl.get(), fd);
      char block[4096];
      if (SSL_accept(ssl.get()) == 1 && SSL_read(ssl.get(), block, sizeof block) > 0) {
        ++requests_;
        constexpr std::string_view kAnswer =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        SSL_write(ssl.get(), kAnswer.data(), kAnswer.size());
        SSL_shutdown(ssl.get());
      }
      ::close(fd);
    }
  }

  Identity identity_;
  Handle<SSL_CTX, &SSL_CTX_free> context_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::jthread thread_;
};

class HttpSinkTls : public ::testing::Test {
 public:
  HttpSinkTls() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pillarbox-tls-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ::signal(SIGPIPE, SIG_IGN);  // of the server's thread
  }
  ~HttpSinkTls() override { std::filesystem::remove_all(folder_); }

 protected:
  static SinkSettings settings(const TlsReceiver& receiver, const std::string& ca_file) {
    SinkSettings out{.name = "partner", .outbox = "shop", .url = receiver.url()};
    out.sink = {{"allow_private_addresses", "true"}};
    if (!ca_file.empty()) out.sink["ca_file"] = ca_file;
    return out;
  }
  static Outcome deliver(const SinkSettings& settings) {
    std::vector<ClaimedMessage> batch(1);
    batch[0].payload = "{}";
    std::vector<Outcome> outcomes(1);
    http::make_factory()->make(settings)->deliver(batch, {.timeout = std::chrono::minutes(2)},
                                                  outcomes);
    return outcomes[0];
  }

  std::filesystem::path folder_;
};

TEST_F(HttpSinkTls, DeliversToACertificateThatItTrusts) {
  const TlsReceiver receiver("IP:127.0.0.1");
  const SinkSettings with = settings(receiver, receiver.write_certificate(folder_ / "ca.pem"));
  const Outcome outcome = deliver(with);
  EXPECT_EQ(outcome.kind, OutcomeKind::delivered) << outcome.error;
  EXPECT_EQ(receiver.requests(), 1);
  EXPECT_THAT(http::make_factory()->probe(with, steady_clock::now() + std::chrono::minutes(2)),
              ::testing::HasSubstr("certificate verified"));
}

TEST_F(HttpSinkTls, SendsNothingToACertificateThatNobodyVouchesFor) {
  const TlsReceiver receiver("IP:127.0.0.1");
  const Outcome outcome = deliver(settings(receiver, ""));
  EXPECT_EQ(outcome.kind, OutcomeKind::unavailable);
  EXPECT_EQ(outcome.code, "curl_60") << outcome.error;
  EXPECT_EQ(receiver.requests(), 0);
  EXPECT_THROW((void)http::make_factory()->probe(settings(receiver, ""),
                                                 steady_clock::now() + std::chrono::minutes(2)),
               Error);
}

TEST_F(HttpSinkTls, SendsNothingToACertificateOfAnotherName) {
  const TlsReceiver receiver("DNS:other.example");
  const Outcome outcome =
      deliver(settings(receiver, receiver.write_certificate(folder_ / "ca.pem")));
  EXPECT_EQ(outcome.kind, OutcomeKind::unavailable);
  EXPECT_EQ(outcome.code, "curl_60") << outcome.error;
  EXPECT_EQ(receiver.requests(), 0);
}

TEST_F(HttpSinkTls, AMissingFileOfCertificatesIsUnavailable) {
  const TlsReceiver receiver("IP:127.0.0.1");
  const Outcome outcome = deliver(settings(receiver, (folder_ / "none.pem").string()));
  EXPECT_EQ(outcome.kind, OutcomeKind::unavailable);
  EXPECT_EQ(outcome.code, "curl_77") << outcome.error;
}

}  // namespace
}  // namespace pillarbox::testing
