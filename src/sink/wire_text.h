// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text as sinks write it on the wire. Pure functions.
namespace pillarbox::sink {

// Appends standard base64 with padding (RFC 4648 section 4).
void append_base64(std::string& out, std::string_view bytes);

// JSON, text/*, and the usual application types that are text: XML, JavaScript, form data, NDJSON.
[[nodiscard]] bool is_text_type(std::string_view content_type) noexcept;

// Appends foreign text for people: one line, without control characters, well-formed UTF-8, and no
// more than makes `out` that long.
void append_printable(std::string& out, std::string_view text, std::size_t out_bytes_max);

[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept;

}  // namespace pillarbox::sink
