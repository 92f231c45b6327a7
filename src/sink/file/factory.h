// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/sink.h"

namespace pillarbox::file_sink {

// "file:PATH" and "stdout:": one JSON object a line (docs/reference/sinks.md has the members). A
// file may be shared by any number of sinks and processes, and may be rotated under them.
[[nodiscard]] std::shared_ptr<const SinkFactory> make_factory();

}  // namespace pillarbox::file_sink
