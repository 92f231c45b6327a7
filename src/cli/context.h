// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/output.h"
#include "config/config.h"
#include "core/filter.h"
#include "pillarbox/store.h"

namespace pillarbox::cli {

// What one invocation works with. Made once in main; used by one thread.
class Context {
 public:
  explicit Context(const Arguments& arguments);

  [[nodiscard]] const Style& style() const noexcept { return style_; }
  [[nodiscard]] bool quiet() const noexcept { return quiet_; }

  // The effective configuration. Throws ConfigurationRefused.
  const config::Configuration& configuration(bool needs_outbox = true);
  // The outbox named by --outbox, or the only one.
  const OutboxSettings& outbox();
  [[nodiscard]] StoreOptions store_options();
  [[nodiscard]] const StoreFactory& factory();
  StoreAdmin& admin();

  // Who acts, for the audit: user@host.
  [[nodiscard]] static std::string who();

  // To stderr, unless --quiet.
  void say(std::string_view text) const;
  // Asks on the terminal. True with --yes; throws Declined when nobody can be asked.
  [[nodiscard]] bool confirm(const std::string& question,
                             std::optional<std::int64_t> type_the_count = {});

  // --filter texts joined; route: resolved by the configuration. Throws UsageError with the
  // position.
  [[nodiscard]] Filter filter_of(const Arguments& arguments);
  // A message by either of its ids. Throws Error(not_found).
  [[nodiscard]] RowId resolve(const std::string& id);

 private:
  const Arguments& arguments_;
  Style style_;
  bool quiet_ = false;
  std::optional<config::Configuration> configuration_;
  std::unique_ptr<StoreAdmin> admin_;
};

struct ConfigurationRefused : std::exception {
  explicit ConfigurationRefused(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

struct Declined : std::exception {
  [[nodiscard]] const char* what() const noexcept override {
    return "declined; nothing was changed (--yes answers for you)";
  }
};

}  // namespace pillarbox::cli
