// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/store.h"

// The filter text, the same in the command line, URLs and the API:
//   status:dead,retrying type:email.* key:order-17 -reason:expired attempts:>3 error:"timed out"
//   age:>5m
// Space is "and", comma is "or", '-' negates, quotes hold spaces.
namespace pillarbox::core {

struct FilterProblem {
  std::size_t position = 0;  // from 1
  std::string text;
};

struct ParsedFilter {
  Filter filter;
  std::vector<std::string> routes;      // route:NAME, for the caller to resolve into job types
  std::vector<FilterProblem> problems;  // empty: the filter is good
};

[[nodiscard]] ParsedFilter parse_filter(std::string_view text);

// For `help filters`: one line a word.
[[nodiscard]] std::string_view filter_help() noexcept;

}  // namespace pillarbox::core
