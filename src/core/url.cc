// SPDX-License-Identifier: Apache-2.0
#include "core/url.h"

namespace pillarbox::core {

std::string_view url_scheme(std::string_view url) noexcept {
  const auto colon = url.find(':');
  return colon == std::string_view::npos ? std::string_view{} : url.substr(0, colon);
}

std::string redact_url(std::string_view url) { return std::string(url_scheme(url)) + ":***"; }

}  // namespace pillarbox::core
