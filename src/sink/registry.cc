// SPDX-License-Identifier: Apache-2.0
#include "sink/registry.h"

#include <vector>

#include "core/url.h"
#include "pillarbox/error.h"
#ifdef PILLARBOX_WITH_FILE
#include "sink/file/factory.h"
#endif
#ifdef PILLARBOX_WITH_HANGFIRE
#include "sink/hangfire/factory.h"
#endif
#ifdef PILLARBOX_WITH_HTTP
#include "sink/http/factory.h"
#endif
#ifdef PILLARBOX_WITH_NULL
#include "sink/null/factory.h"
#endif

namespace pillarbox {

std::span<const std::shared_ptr<const SinkFactory>> sink_factories() {
  static const std::vector<std::shared_ptr<const SinkFactory>> kFactories = {
#ifdef PILLARBOX_WITH_HTTP
      http::make_factory(),
#endif
#ifdef PILLARBOX_WITH_HANGFIRE
      hangfire::make_factory(),
#endif
#ifdef PILLARBOX_WITH_FILE
      file_sink::make_factory(),
#endif
#ifdef PILLARBOX_WITH_NULL
      null_sink::make_factory(),
#endif
  };
  return kFactories;
}

const SinkFactory& sink_factory_for(std::string_view url) {
  const std::string_view scheme = core::url_scheme(url);
  std::string known;
  for (const auto& factory : sink_factories()) {
    for (const std::string_view s : factory->schemes()) {
      if (s == scheme) return *factory;
      known += known.empty() ? "" : ", ";
      known += s;
    }
  }
  throw Error(ErrorKind::invalid_input, "PBX-2011",
              "sink URL '" + core::redact_url(url) +
                  "' has a scheme that this build does not know; known are: " + known);
}

}  // namespace pillarbox
