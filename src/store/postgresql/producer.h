// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pillarbox/message.h"
#include "store/postgresql/parameters.h"

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

}  // namespace pillarbox::postgresql
