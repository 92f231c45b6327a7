// SPDX-License-Identifier: Apache-2.0
#include "store/registry.h"

#include <vector>

#include "core/url.h"
#include "pillarbox/error.h"
#ifdef PILLARBOX_WITH_MEMORY
#include "store/memory/factory.h"
#endif
#ifdef PILLARBOX_WITH_SQLITE
#include "store/sqlite/factory.h"
#endif
#ifdef PILLARBOX_WITH_POSTGRESQL
#include "store/postgresql/factory.h"
#endif

namespace pillarbox {

std::span<const std::shared_ptr<const StoreFactory>> store_factories() {
  static const std::vector<std::shared_ptr<const StoreFactory>> kFactories = {
#ifdef PILLARBOX_WITH_SQLITE
      sqlite::make_factory(),
#endif
#ifdef PILLARBOX_WITH_POSTGRESQL
      postgresql::make_factory(),
#endif
#ifdef PILLARBOX_WITH_MEMORY
      memory::make_factory(),
#endif
  };
  return kFactories;
}

const StoreFactory& store_factory_for(std::string_view url) {
  const std::string_view scheme = core::url_scheme(url);
  std::string known;
  for (const auto& factory : store_factories()) {
    for (const std::string_view s : factory->schemes()) {
      if (s == scheme) return *factory;
      known += known.empty() ? "" : ", ";
      known += s;
    }
  }
  throw Error(ErrorKind::invalid_input, "PBX-2010",
              "store URL '" + core::redact_url(url) +
                  "' has a scheme that this build does not know; known are: " + known);
}

}  // namespace pillarbox
