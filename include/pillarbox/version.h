// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace pillarbox {

inline constexpr std::string_view kVersion =
    "0.1.0";  // semver.org; the same number stands in CMakeLists.txt

}  // namespace pillarbox
