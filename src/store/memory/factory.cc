// SPDX-License-Identifier: Apache-2.0
#include "store/memory/factory.h"

#include <algorithm>
#include <array>

#include "core/url.h"
#include "pillarbox/error.h"
#include "store/memory/sessions.h"

namespace pillarbox::memory {
namespace {

constexpr std::array<std::string_view, 1> kSchemes = {"memory"};
constexpr std::string_view kPrefix = "memory:";
constexpr std::size_t kNameChars = 100;

class Factory final : public StoreFactory {
 public:
  [[nodiscard]] std::span<const std::string_view> schemes() const override { return kSchemes; }

  [[nodiscard]] Capabilities capabilities() const override {
    return {.wakes = true,
            .many_relays = false,
            .concurrent_claims = false,
            .concurrent_producers = true,
            .roles = false,
            .durable = false};
  }

  void check(const StoreOptions& options) const override {
    static_cast<void>(outbox_name(options));
  }

  [[nodiscard]] std::unique_ptr<Store> connect(const StoreOptions& options) const override {
    return std::make_unique<MemoryStore>(open(options), options.claimed_by,
                                         options.keep_dispatched);
  }

  [[nodiscard]] std::unique_ptr<StoreAdmin> connect_admin(
      const StoreOptions& options) const override {
    return std::make_unique<MemoryAdmin>(open(options));
  }

  [[nodiscard]] std::unique_ptr<WakeSource> wake_source(
      const StoreOptions& options) const override {
    return std::make_unique<MemoryWakeSource>(open(options));
  }

  [[nodiscard]] std::unique_ptr<Schema> schema(const StoreOptions& options) const override {
    check(options);
    return std::make_unique<MemorySchema>();
  }

  [[nodiscard]] std::vector<MigrationStep> migrations(
      const StoreOptions& /*options*/) const override {
    return {};
  }

 private:
  [[nodiscard]] static std::shared_ptr<Outbox> open(const StoreOptions& options) {
    return Outbox::open(outbox_name(options));
  }
};

}  // namespace

std::string outbox_name(const StoreOptions& options) {
  const std::string_view url = options.url;
  const std::string_view name =
      url.starts_with(kPrefix) ? url.substr(kPrefix.size()) : std::string_view{};
  const bool good = !name.empty() && name.size() <= kNameChars &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                    });
  if (!good) {
    throw Error(ErrorKind::invalid_input, "PBX-2010",
                "store URL '" + core::redact_url(url) +
                    "' must be memory:NAME, with 1 to 100 letters, digits, '.', '_' or '-'");
  }
  return std::string(name);
}

std::shared_ptr<const StoreFactory> make_factory() { return std::make_shared<Factory>(); }

}  // namespace pillarbox::memory
