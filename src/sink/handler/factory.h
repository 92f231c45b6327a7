// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/relay.h"
#include "pillarbox/sink.h"

namespace pillarbox::handler_sink {

// A function of this process as a sink. It is called on the worker's thread, one message after
// another, in the batch's order. Foreign code cannot be interrupted: the route's timeout does not
// end a call. A handler that throws makes its own message transient and touches no other. Sinks of
// several workers may share one handler, which then is called from several threads at once. Throws
// Error(invalid_input, PBX-5002) for an empty handler.
[[nodiscard]] std::unique_ptr<Sink> make(Handler handler);

}  // namespace pillarbox::handler_sink
