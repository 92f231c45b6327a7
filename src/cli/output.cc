// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/units.h"
#include "core/utf8.h"
#include "json/json.h"

namespace pillarbox::cli {
namespace {

constexpr std::size_t kCellMax = 60;  // characters in a terminal's table

std::string text_of(const Cell& cell, const Style& style, DbTime now) {
  struct Visitor {
    const Style& style;
    DbTime now;
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const std::string& text) const { return printable(text); }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool value) const { return value ? "yes" : "no"; }
    std::string operator()(const IdCell& id) const { return std::to_string(id.value); }
    std::string operator()(const Headers& headers) const {
      return headers.empty() ? "" : json::write_headers(headers);
    }
    std::string operator()(DbTime time) const {
      if (!style.terminal || style.format != Format::table || now == DbTime{})
        return core::format_time(time);
      const std::int64_t ms = (to_int(now) - to_int(time)) / 1'000;
      return ms >= 0 ? core::describe_duration(Millis(ms)) + " ago"
                     : "in " + core::describe_duration(Millis(-ms));
    }
  };
  return std::visit(Visitor{style, now}, cell);
}

std::string cut(std::string_view text, std::size_t characters) {
  const auto length = core::utf8_length(text);
  if (!length || *length <= characters) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size() && seen < characters - 1; ++seen) {
    ++bytes;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
      ++bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

void object_of(json::Writer& writer, const std::vector<Column>& columns,
               const std::vector<Cell>& row) {
  writer.begin_object();
  for (std::size_t i = 0; i < columns.size(); ++i)
    writer.key(columns[i].key).raw(cell_json(row[i]));
  writer.end_object();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

std::string cell_json(const Cell& cell) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(const std::string& text) const { return json::quoted(text); }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(DbTime time) const { return json::quoted(core::format_time(time)); }
    std::string operator()(const IdCell& id) const {
      return "\"" + std::to_string(id.value) + "\"";
    }
    std::string operator()(const Headers& headers) const { return json::write_headers(headers); }
  };
  return std::visit(Visitor{}, cell);
}

void write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) std::_Exit(errno == EPIPE ? 0 : 1);  // `| head` has seen enough
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string coloured(const Style& style, Colour colour, std::string_view text) {
  if (!style.colour) return std::string(text);
  constexpr std::string_view kCodes[] = {"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[90m"};
  return std::string(kCodes[static_cast<std::size_t>(colour)]) + std::string(text) + "\x1b[0m";
}

void Table::write(const Style& style, DbTime now, std::string_view extra) const {
  std::string out;
  switch (style.format) {
    case Format::json: {
      json::Writer writer;
      writer.begin_object().key("items").begin_array();
      for (const auto& row : rows_) object_of(writer, columns_, row);
      writer.end_array();
      out = writer.take();
      if (!extra.empty()) out += "," + std::string(extra);
      out += "}\n";
      break;
    }
    case Format::ndjson:
      for (const auto& row : rows_) {
        json::Writer writer;
        object_of(writer, columns_, row);
        out += writer.text() + "\n";
      }
      break;
    case Format::id:
      for (const auto& row : rows_) {
        const auto id = std::find_if(row.begin(), row.end(), [](const Cell& cell) {
          return std::holds_alternative<IdCell>(cell);
        });
        out += text_of(id == row.end() ? row.front() : *id, style, now) + "\n";
      }
      break;
    case Format::tsv:
      for (std::size_t i = 0; i < columns_.size(); ++i)
        out += (i == 0 ? "" : "\t") + std::string(columns_[i].key);
      out += '\n';
      for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
          out += (i == 0 ? "" : "\t") + text_of(row[i], style, now);
        out += '\n';
      }
      break;
    case Format::table: {
      std::vector<std::vector<std::string>> lines(1);
      std::vector<std::size_t> shown;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!columns_[i].wide) shown.push_back(i);
      }
      for (const std::size_t i : shown) lines[0].emplace_back(columns_[i].key);
      for (const auto& row : rows_) {
        std::vector<std::string> line;
        line.reserve(shown.size());
        for (const std::size_t i : shown)
          line.push_back(cut(text_of(row[i], style, now), kCellMax));
        lines.push_back(std::move(line));
      }
      std::vector<std::size_t> widths(shown.size(), 0);
      const auto width = [](const std::string& text) {
        return core::utf8_length(text).value_or(text.size());
      };
      for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i)
          widths[i] = std::max(widths[i], width(line[i]));
      }
      for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
          out += line[i];
          if (i + 1 < line.size()) out += std::string(widths[i] - width(line[i]) + 2, ' ');
        }
        out += '\n';
      }
      break;
    }
  }
  write_out(out);
}

void Record::add(std::string_view key, Cell value) { parts_.emplace_back(key, std::move(value)); }

void Record::write(const Style& style, DbTime now) const {
  std::string out;
  if (style.format == Format::json || style.format == Format::ndjson) {
    json::Writer writer;
    writer.begin_object();
    for (const auto& [key, cell] : parts_) writer.key(key).raw(cell_json(cell));
    for (const auto& [key, json] : json_parts_) writer.key(key).raw(json);
    writer.end_object();
    out = writer.text() + "\n";
  } else if (style.format == Format::id) {
    out = text_of(parts_.front().second, style, now) + "\n";
  } else {
    std::size_t width = 0;
    for (const auto& [key, cell] : parts_) width = std::max(width, key.size());
    for (const auto& [key, cell] : parts_) {
      const std::string text = text_of(cell, style, now);
      if (style.format == Format::tsv) {
        out += std::string(key) + "\t" + text + "\n";
      } else if (!text.empty()) {
        out += std::string(key) + std::string(width - key.size() + 2, ' ') + text + "\n";
      }
    }
  }
  write_out(out);
}

}  // namespace pillarbox::cli
