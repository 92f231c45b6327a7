// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/conformance/sink_fixture.h"

namespace pillarbox::testing {

// Every sink of this build, and every setting that changes what a sink does.
[[nodiscard]] std::vector<SinkParam> all_sinks();

[[nodiscard]] std::vector<SinkParam> local_sinks();  // null, file, handler
[[nodiscard]] std::vector<SinkParam> http_sinks();

}  // namespace pillarbox::testing
