// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pillarbox/store.h"

namespace pillarbox::cli {

enum class Format { table, tsv, json, ndjson, id };

struct Style {
  Format format = Format::table;
  bool terminal = false;  // stdout is one: relative times, nothing cut off otherwise
  bool colour = false;
};

// A row's number: a string in JSON, since 64 bits do not fit every reader's numbers.
struct IdCell {
  std::int64_t value;
};
using Cell = std::variant<std::monostate, std::string, std::int64_t, bool, DbTime, IdCell, Headers>;

struct Column {
  std::string_view key;  // the JSON member, and the title
  bool wide = false;     // left out of the table on a terminal: it would not fit
};

// What a command answers: rows of one kind. Written to stdout in the chosen format; -o id writes
// each row's id, or else its first cell.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  // `now` is the store's clock, for relative times. `extra` are further members of the JSON object,
  // already JSON.
  void write(const Style& style, DbTime now, std::string_view extra = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// One thing with named parts: a list of lines on a terminal, an object in JSON.
class Record {
 public:
  void add(std::string_view key, Cell value);
  void add_json(std::string_view key, std::string json) {
    json_parts_.emplace_back(key, std::move(json));
  }
  void write(const Style& style, DbTime now) const;

 private:
  std::vector<std::pair<std::string_view, Cell>> parts_;
  std::vector<std::pair<std::string_view, std::string>> json_parts_;
};

// Control characters made visible, so that a stored text cannot steer a terminal.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::string cell_json(const Cell& cell);
void write_out(std::string_view text);  // to stdout; ends quietly when the reader has gone

enum class Colour { red, yellow, green, grey };
[[nodiscard]] std::string coloured(const Style& style, Colour colour, std::string_view text);

}  // namespace pillarbox::cli
