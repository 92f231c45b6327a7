// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"

// JSON (RFC 8259) without a tree of values: payloads are checked and passed on as they are, never
// re-serialised.
namespace pillarbox::json {

// Deeper nesting is refused: no payload needs it, and every reader has a bound somewhere.
constexpr std::size_t kDepthMax = 128;

// One JSON text and nothing after it. Numbers of any size are valid: they stay text. An escaped
// lone surrogate is not: no reader turns it into a character.
[[nodiscard]] bool is_valid(std::string_view text);

// An object whose values are strings, keys unique and without NUL. nullopt for anything else. Order
// is kept.
[[nodiscard]] std::optional<Headers> parse_headers(std::string_view text);
[[nodiscard]] std::string write_headers(const Headers& headers);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string& out, std::string_view text);
[[nodiscard]] std::string quoted(std::string_view text);

// Paths ("card.token") of object keys that match one of `patterns`: case-insensitive, '*' for any
// run of characters. At most `count_max`. Invalid JSON has none.
[[nodiscard]] std::vector<std::string> find_keys(std::string_view text,
                                                 std::span<const std::string> patterns,
                                                 std::size_t count_max = 10);
// What looks like a secret by default.
[[nodiscard]] const std::vector<std::string>& secret_key_patterns();

// Whether a media type says JSON: application/json, or a +json suffix; parameters ignored.
[[nodiscard]] bool is_json_type(std::string_view content_type);

// JSON Pointers (RFC 6901). find() gives the value as it is written, quotes and all; nullopt when
// there is none or `text` is not JSON. Of repeated keys the last one counts.
[[nodiscard]] bool is_pointer(std::string_view pointer);
[[nodiscard]] std::optional<std::string_view> find(std::string_view text, std::string_view pointer);
// What a JSON string that was written with its quotes says.
[[nodiscard]] std::string unquoted(std::string_view quoted);
// Well-formed UTF-8 JSON with everything above ASCII as \uXXXX: it survives every character set.
[[nodiscard]] std::string as_ascii(std::string_view text);

// Writes one JSON text. Misuse (a value without a key inside an object) is an assertion.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view value);
  Writer& number(std::int64_t value);
  Writer& real(double value);  // null when not finite
  Writer& boolean(bool value);
  Writer& null();
  Writer& raw(std::string_view json);  // must be valid JSON
  // key + value in one
  Writer& field(std::string_view name, std::string_view value) { return key(name).string(value); }
  Writer& field(std::string_view name, const char* value) { return key(name).string(value); }
  Writer& field(std::string_view name, std::int64_t value) { return key(name).number(value); }
  Writer& field_bool(std::string_view name, bool value) { return key(name).boolean(value); }

  [[nodiscard]] const std::string& text() const noexcept { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void before_value();
  struct Level {
    bool is_object;
    bool empty;
    bool has_key;
  };
  std::string out_;
  std::vector<Level> levels_;
};

}  // namespace pillarbox::json
