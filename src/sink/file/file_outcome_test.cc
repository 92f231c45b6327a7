// SPDX-License-Identifier: Apache-2.0
#include "sink/file/file_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace pillarbox::file_sink {
namespace {

// A full disk must not kill messages: whatever a file system says, it is never about one of them.
TEST(FileOutcome, IsUnavailableForEveryErrorOfTheSystem) {
  for (const int error :
       {ENOSPC, EDQUOT, EIO, EROFS, EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, EMFILE, ENFILE, EFBIG,
        EPIPE, ENXIO, ENOMEM, ELOOP, ENAMETOOLONG, 99999}) {
    const Outcome outcome = outcome_of_errno(error, "write to /x");
    EXPECT_EQ(outcome.kind, OutcomeKind::unavailable) << error;
    EXPECT_FALSE(outcome.stops_route) << error;
    EXPECT_THAT(outcome.error, testing::StartsWith("could not write to /x: ")) << error;
  }
}

TEST(FileOutcome, CountsByTheErrorsNameAndSaysWhatToDo) {
  const Outcome full = outcome_of_errno(ENOSPC, "write to /x");
  EXPECT_EQ(full.code, "file_enospc");
  EXPECT_THAT(full.error, testing::HasSubstr("make room"));
  EXPECT_EQ(outcome_of_errno(99999, "open /x").code, "file_99999");
}

}  // namespace
}  // namespace pillarbox::file_sink
