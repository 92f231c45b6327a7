// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pillarbox/sink.h"

namespace pillarbox::http {

// "http://…" and "https://…": a POST for each message, or for each batch with format
// cloudevents-batch. docs/reference/sinks.md has the formats and what each answer means.
[[nodiscard]] std::shared_ptr<const SinkFactory> make_factory();

}  // namespace pillarbox::http
