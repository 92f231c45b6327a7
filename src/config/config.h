// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/relay.h"

// The configuration: one table of settings drives reading, checking, `config show`, `config init`,
// and the reference.
namespace pillarbox::config {

// What is wrong: all of it at once. line and column count from 1; 0: not in a file.
struct Problem {
  std::string where;  // file, "environment" or "command line"
  std::size_t line = 0;
  std::size_t column = 0;
  std::string text;  // what is wrong, and what would be right
};

// One effective value, as it may be shown: secrets are named by where they come from, URLs are
// redacted.
struct Value {
  std::string key;  // "relay.batch_size", "sink.partner.url", "route[1].type"
  std::string text;
  std::string origin;  // "default", "file:9", "environment PILLARBOX_…", "command line"
};

struct Configuration {
  RelaySettings relay;
  std::string log_level = "info";
  std::string log_format = "auto";
  std::string file;  // that was read; empty: none
  std::vector<Value> values;
  std::vector<std::string> warnings;
};

struct Source {
  std::optional<std::string> path = {};  // --config; else the search order of ux: see find_file()
  std::optional<std::string> store_url = {};          // --store: a single outbox
  std::optional<std::string> sink_url = {};           // --sink: one route for everything
  std::map<std::string, std::string> overrides = {};  // "relay.batch_size" → "100", from flags
  std::function<std::optional<std::string>(std::string_view)> environment =
      {};                                           // getenv; replaceable for tests
  std::vector<std::string> environment_names = {};  // of variables that begin with PILLARBOX_
  bool needs_outbox = true;
};

struct Loaded {
  std::optional<Configuration> configuration;  // absent: there are problems
  std::vector<Problem> problems;
};

// Reads, overlays (flag > environment > file > default) and checks. Connects to nothing. Throws
// Error(invalid_input, PBX-2001) when the named file cannot be read.
[[nodiscard]] Loaded load(const Source& source);

// The same, from a text: `name` is used in problems.
[[nodiscard]] Loaded load_text(std::string_view toml, const std::string& name,
                               const Source& source);

// "configuration refused (PBX-2003)", then one line a problem.
[[nodiscard]] std::string describe(const std::vector<Problem>& problems);

// A commented file with every setting at its default.
[[nodiscard]] std::string initial_file();
// The reference as Markdown; `section` limits it ("relay"), empty: everything.
[[nodiscard]] std::string reference(std::string_view section);

}  // namespace pillarbox::config
