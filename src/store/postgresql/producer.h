// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"
#include "postgresql/parameters.h"
#include "postgresql/session.h"

namespace pillarbox::postgresql {

// The parameters of enqueue.sql. The message must live until they were sent.
class EnqueueText {
 public:
  explicit EnqueueText(const NewMessage& message);
  [[nodiscard]] Parameters parameters() const;

 private:
  const NewMessage& message_;
  std::string headers_;
};

// The parameters of enqueue_many.sql. The messages must live until they were sent.
class EnqueueManyText {
 public:
  explicit EnqueueManyText(std::span<const NewMessage> messages);
  [[nodiscard]] Parameters parameters() const;

 private:
  std::vector<std::string_view> types_;
  std::vector<std::string_view> payloads_;
  std::vector<std::string_view> content_types_;
  std::vector<std::string> headers_;
  std::vector<MessageId> ids_;
  std::vector<std::string_view> correlation_ids_;
  std::vector<std::string_view> keys_;
  std::vector<std::int64_t> delays_;
  std::vector<std::optional<std::int64_t>> expiries_;
};
[[nodiscard]] std::vector<MessageId> ids_of(const Result& result);

}  // namespace pillarbox::postgresql
