// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/sink.h"

namespace pillarbox::hangfire {

// Sinks at hangfire+postgresql:// URLs: jobs in the storage of Hangfire.PostgreSql, run by
// unmodified Hangfire servers.
[[nodiscard]] std::shared_ptr<const SinkFactory> make_factory();

}  // namespace pillarbox::hangfire
