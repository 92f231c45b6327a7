// SPDX-License-Identifier: Apache-2.0
#include "core/error_group.h"

#include <algorithm>
#include <cctype>

namespace pillarbox::core {

std::string normalise_error(std::string_view error) {
  std::string out;
  out.reserve(error.size());
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < error.size();) {
    if (!is_word(error[i])) {
      out += error[i++];
      continue;
    }
    // A word, with the dashes of a UUID inside it.
    std::size_t end = i;
    while (end < error.size() &&
           (is_word(error[end]) || (error[end] == '-' && end + 1 < error.size() && end > i &&
                                    is_hex(error[end - 1]) && is_hex(error[end + 1])))) {
      ++end;
    }
    const std::string_view word = error.substr(i, end - i);
    const bool hex =
        std::all_of(word.begin(), word.end(), [&](char c) { return is_hex(c) || c == '-'; });
    const bool has_digit = std::any_of(word.begin(), word.end(), is_digit);
    if (hex && has_digit && word.size() >= 8) {
      out += '#';
    } else {
      bool in_number = false;
      for (const char c : word) {
        if (!is_digit(c)) out += c;
        if (is_digit(c) && !in_number) out += '#';
        in_number = is_digit(c);
      }
    }
    i = end;
  }
  return out;
}

void DeadGrouping::add(RowId id, std::string job_type, DeadReason reason, std::string_view error,
                       DbTime dead_at) {
  std::string normal = normalise_error(error);
  DeadGroup& group = groups_[{job_type, reason, normal}];
  if (group.count == 0) {
    group.job_type = std::move(job_type);
    group.reason = reason;
    group.error = std::move(normal);
    group.first_at = dead_at;
    group.last_at = dead_at;
    group.sample = id;
  }
  ++group.count;
  group.first_at = std::min(group.first_at, dead_at);
  group.last_at = std::max(group.last_at, dead_at);
}

std::vector<DeadGroup> DeadGrouping::take() {
  std::vector<DeadGroup> out;
  for (auto& [key, group] : groups_) out.push_back(std::move(group));
  groups_.clear();
  std::stable_sort(out.begin(), out.end(),
                   [](const DeadGroup& a, const DeadGroup& b) { return a.count > b.count; });
  if (out.size() > kGroupsMax) out.resize(kGroupsMax);
  return out;
}

}  // namespace pillarbox::core
