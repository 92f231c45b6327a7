// SPDX-License-Identifier: Apache-2.0
#include "sink/file/file_outcome.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace pillarbox::file_sink {
namespace {

std::string_view remedy(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "make room on that file system";
    case EACCES:
    case EPERM:
      return "give the relay's user the right to append to it";
    case ENOENT:
    case ENOTDIR:
      return "create the folder, or mount it again";
    case EROFS:
      return "mount the file system writable";
    case EISDIR:
      return "name a file, not a folder";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files";
    case ETIMEDOUT:
      return "whoever reads it does not; wake it up";
    case EPIPE:
      return "whoever read the output is gone; start it again";
    default:
      return "see the system's log";
  }
}

}  // namespace

Outcome outcome_of_errno(int error, std::string_view what) {
  const char* name = strerrorname_np(error);
  std::string code = name != nullptr ? name : std::to_string(error);
  for (char& c : code) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const char* text = strerrordesc_np(error);
  return Outcome::unavailable("file_" + code, "could not " + std::string(what) + ": " +
                                                  (text != nullptr ? text : "unknown error") +
                                                  "; " + std::string(remedy(error)));
}

}  // namespace pillarbox::file_sink
