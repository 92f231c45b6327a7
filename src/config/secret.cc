// SPDX-License-Identifier: Apache-2.0
#include "config/secret.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "pillarbox/error.h"

namespace pillarbox::config {
namespace {

constexpr std::size_t kSecretBytesMax = 64 * 1024;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::refused, "PBX-2006", "secret not available: " + what);
}

std::string read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("file " + path + ": " + std::strerror(errno));
  std::string text(kSecretBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kSecretBytesMax) refuse("file " + path + " is larger than 64 KiB");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) refuse("file " + path + " is empty");
  return text;
}

class FileSecret final : public Secret {
 public:
  explicit FileSecret(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::string read() const override { return read_file(path_); }
  [[nodiscard]] std::string where() const override { return "file " + path_; }

 private:
  std::string path_;
};

class EnvironmentSecret final : public Secret {
 public:
  explicit EnvironmentSecret(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string read() const override {
    const char* value = std::getenv(name_.c_str());
    if (value == nullptr || *value == '\0') refuse("environment variable " + name_ + " is not set");
    return value;
  }
  [[nodiscard]] std::string where() const override { return "environment " + name_; }

 private:
  std::string name_;
};

class CredentialSecret final : public Secret {
 public:
  explicit CredentialSecret(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string read() const override {
    const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr) {
      refuse("credential " + name_ + ": CREDENTIALS_DIRECTORY is not set; give LoadCredential=" +
             name_ + ":… in the systemd unit");
    }
    return read_file(std::string(directory) + "/" + name_);
  }
  [[nodiscard]] std::string where() const override { return "credential " + name_; }

 private:
  std::string name_;
};

}  // namespace

std::shared_ptr<const Secret> secret_from_file(std::string path) {
  return std::make_shared<FileSecret>(std::move(path));
}
std::shared_ptr<const Secret> secret_from_environment(std::string name) {
  return std::make_shared<EnvironmentSecret>(std::move(name));
}
std::shared_ptr<const Secret> secret_from_credential(std::string name) {
  return std::make_shared<CredentialSecret>(std::move(name));
}

}  // namespace pillarbox::config
