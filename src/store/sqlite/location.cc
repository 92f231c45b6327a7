// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/location.h"

#include "core/url.h"
#include "pillarbox/error.h"

namespace pillarbox::sqlite {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(
      ErrorKind::invalid_input, "PBX-2010",
      "store URL: " + why + "; right is sqlite:PATH or sqlite:PATH?synchronous=normal|full");
}

}  // namespace

Location parse_location(std::string_view text) {
  const core::Url url = core::parse_url(text);
  if (url.scheme != "sqlite") refuse("the scheme is not sqlite");
  if (!url.host.empty() || !url.user.empty() || url.password || url.port)
    refuse("a file has no host; write sqlite:/abs/app.db");
  if (url.path.empty()) refuse("the path is missing");
  if (url.path.starts_with(":memory:"))
    refuse("a database in memory belongs to one connection only");
  if (url.path.find('\0') != std::string::npos) refuse("a path holds no NUL");
  Location location;
  location.path = url.path;
  for (const auto& [name, value] : url.query) {
    if (name != "synchronous") refuse("unknown parameter '" + name + "'");
    if (value != "normal" && value != "full") refuse("synchronous is '" + value + "'");
    location.synchronous_full = value == "full";
  }
  return location;
}

}  // namespace pillarbox::sqlite
