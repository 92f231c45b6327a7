// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pillarbox::core {

// The candidate that `word` was probably meant to be, or empty. Distance counts insertions,
// deletions, replacements and swaps of neighbours; at most a third of the word's length may differ.
[[nodiscard]] std::string nearest_name(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace pillarbox::core
