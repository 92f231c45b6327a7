// SPDX-License-Identifier: Apache-2.0
#include "sql/embedded.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/assert.h"

namespace pillarbox::sql {
namespace {

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  const int ok = EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  PILLARBOX_ASSERT(ok == 1 && size == digest.size());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4U];
    hex += kHex[byte & 15U];
  }
  return hex;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view statement(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& f) { return f.name == name; });
  PILLARBOX_ASSERT(found != files.end());
  return found->text;
}

std::vector<MigrationStep> migrations(std::span<const EmbeddedFile> files) {
  std::vector<MigrationStep> steps;
  for (const EmbeddedFile& file : files) {
    const bool numbered = file.name.size() > 8 && is_digit(file.name[0]) &&
                          is_digit(file.name[1]) && is_digit(file.name[2]) && file.name[3] == '_';
    if (!numbered) continue;
    MigrationStep step;
    step.number = (file.name[0] - '0') * 100 + (file.name[1] - '0') * 10 + (file.name[2] - '0');
    step.name = file.name.substr(4, file.name.size() - 8);
    step.sql = file.text;
    step.checksum = sha256_hex(file.text);
    steps.push_back(std::move(step));
  }
  std::sort(steps.begin(), steps.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return steps;
}

std::string in_schema(std::string_view text, std::string_view schema) {
  constexpr std::string_view kOurs = "pillarbox";
  if (schema == kOurs) return std::string(text);
  // A whole word `pillarbox` that qualifies a name (`pillarbox.`) or stands after the word SCHEMA.
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find(kOurs); at != std::string_view::npos;
       at = text.find(kOurs, at + 1)) {
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    const std::size_t end = at + kOurs.size();
    const bool starts = at == 0 || !is_name(text[at - 1]);
    const bool qualifies = end < text.size() && text[end] == '.';
    std::string before(text.substr(at < 8 ? 0 : at - 8, at < 8 ? at : 8));
    std::transform(before.begin(), before.end(), before.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool names_schema = before.ends_with("schema ") || before.ends_with("exists ");
    if (!starts || !(qualifies || (names_schema && (end == text.size() || !is_name(text[end])))))
      continue;
    out += text.substr(from, at - from);
    out += schema;
    from = end;
  }
  out += text.substr(from);
  return out;
}

}  // namespace pillarbox::sql
