// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pillarbox/outcome.h"

namespace pillarbox::file_sink {

// What a failed system call means for the messages that it concerned. No error of a file system is
// a message's fault: all are `unavailable`. `what` says what was tried: "write to /var/x.jsonl".
[[nodiscard]] Outcome outcome_of_errno(int error, std::string_view what);

}  // namespace pillarbox::file_sink
