// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pillarbox::sqlite {

// Where a `sqlite:` URL points, and what its parameters ask for.
struct Location {
  std::string path;
  bool synchronous_full =
      false;  // ?synchronous=full: the relay's own commits survive a power cut too
};

// sqlite:data/app.db, sqlite:/abs/app.db or sqlite:///abs/app.db, then ?synchronous=normal|full.
// %XX stands for any byte. Throws Error(invalid_input, PBX-2010) that says what would be right.
[[nodiscard]] Location parse_location(std::string_view url);

}  // namespace pillarbox::sqlite
