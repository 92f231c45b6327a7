// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/sink.h"

namespace pillarbox::null_sink {

// "null:" says delivered to everything and keeps nothing: for benchmarks and dry runs.
[[nodiscard]] std::shared_ptr<const SinkFactory> make_factory();

}  // namespace pillarbox::null_sink
