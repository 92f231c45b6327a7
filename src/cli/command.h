// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/error.h"

namespace pillarbox::cli {

// Exit codes; docs/reference/cli.md lists them.
enum Exit : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kConfiguration = 3,
  kUnreachable = 4,
  kSchema = 5,
  kCheckFailed = 6,
  kNotFound = 7,
  kStoppedPartWay = 8,
  kDeclined = 9,
  kInterrupted = 130,
};

struct Flag {
  std::string_view name;  // without dashes
  char short_name = 0;
  std::string_view value = {};  // what it takes, "URL"; empty: nothing
  std::string_view help = {};
  std::string_view choices = {};  // "table|tsv|json"
};

// What was typed, checked against the table.
class Arguments {
 public:
  std::vector<std::string> words;  // after the command's own
  std::multimap<std::string, std::string, std::less<>> flags;

  [[nodiscard]] bool has(std::string_view flag) const { return flags.find(flag) != flags.end(); }
  [[nodiscard]] std::optional<std::string> get(std::string_view flag) const;  // the last one given
  [[nodiscard]] std::vector<std::string> all(std::string_view flag) const;
};

class Context;

struct Command {
  std::string_view path;     // "dead groups"
  std::string_view summary;  // one line
  std::string_view words;    // "ID…", for the usage line
  std::size_t words_min = 0;
  std::size_t words_max = 0;
  std::span<const Flag> flags;
  int (*run)(Context&, const Arguments&) = nullptr;
  std::string_view details = {};  // for its help, with examples
};

[[nodiscard]] std::span<const Command> commands();
[[nodiscard]] std::span<const Flag> global_flags();

// Wrong usage: exit 2, PBX-6008. The text says what, and what would be right.
class UsageError : public std::exception {
 public:
  explicit UsageError(std::string what) : what_(std::move(what)) {}
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

struct Parsed {
  const Command* command = nullptr;  // null: none was named
  std::string group = {};            // help was asked for all commands below this word
  Arguments arguments;
  bool wants_help = false;
};

// Flags may stand anywhere; "--" ends them. Throws UsageError, with the nearest name for a misspelt
// one.
[[nodiscard]] Parsed parse(std::span<const std::string> words);

// A flag's value as a duration, size or number. Throws UsageError.
[[nodiscard]] std::int64_t number_of(const Arguments& arguments, std::string_view flag,
                                     std::int64_t otherwise, std::int64_t low, std::int64_t high);
[[nodiscard]] std::int64_t duration_ms_of(const Arguments& arguments, std::string_view flag,
                                          std::int64_t otherwise);

[[nodiscard]] int exit_code_for(const Error& error);

// Texts made from the table.
[[nodiscard]] std::string usage_of(const Command& command);
[[nodiscard]] std::string overview_text();
[[nodiscard]] std::string group_text(std::string_view group);  // empty: there is no such group
[[nodiscard]] std::string reference_markdown();
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace pillarbox::cli
