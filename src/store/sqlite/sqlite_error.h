// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pillarbox/error.h"

namespace pillarbox::sqlite {

// What one of SQLite's extended result codes means to a caller. Pure: the table test covers every
// primary code. `text` is SQLite's own message, which names no value of a row. `at_commit`: the
// failed call was COMMIT, so a failing disk leaves open whether the work is kept.
[[nodiscard]] Error map_error(int extended_code, std::string_view text, std::string_view where,
                              bool at_commit = false);

}  // namespace pillarbox::sqlite
