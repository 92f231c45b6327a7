// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "pillarbox/message.h"

namespace pillarbox::file_sink {

// Every line starts so, and none is empty.
inline constexpr std::string_view kLineStart = "{\"message_id\":\"";

// Appends the message as one JSON object and a line feed. A text payload is the string "payload",
// any other "payload_base64": both give back the enqueued bytes through any JSON reader, large
// numbers and odd spacing included.
void append_line(std::string& out, const ClaimedMessage& message, std::string_view outbox);

// What to do with bytes found after a file's last line feed.
enum class Tail {
  keep,      // a whole line that only lacks its line feed, or not ours: end it, lose nothing
  cut_away,  // the beginning of a line of ours, or the zeros of a crash: never acknowledged
};
[[nodiscard]] Tail judge_tail(std::string_view tail) noexcept;

}  // namespace pillarbox::file_sink
