// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace pillarbox {

// What a caller can do about an error; a new kind only where some code reacts to it.
enum class ErrorKind {
  invalid_input,  // the caller's data; repeating it cannot help
  unreachable,    // nobody answers, or the login was refused
  timeout,        // no answer in time
  conflict,       // deadlock, serialization failure, busy: repeat at once
  refused,        // the other side understood and said no: read-only, no rights, disk full
  schema,         // the outbox is missing, too old or too new
  not_found,      // what was named does not exist
  internal,       // a defect of ours
};

[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;

// The one exception type: the world broke. Outcomes of deliveries and lost leases are values, not
// errors.
//
// code() is ours and listed in docs/reference/errors.md ("PBX-1003"); native_code() is the other
// side's (SQLSTATE, SQLite's extended code, errno, curl's code), or empty. what() is for an
// operator: what, where, and what to do. It holds no payload and no secret.
class Error : public std::exception {
 public:
  struct Facts {
    bool in_doubt = false;         // the work may have been committed
    bool connection_lost = false;  // throw the connection away
    std::string native_code = {};
  };

  Error(ErrorKind kind, std::string_view code, std::string what);
  Error(ErrorKind kind, std::string_view code, std::string what, Facts facts);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool in_doubt() const noexcept { return facts_.in_doubt; }
  [[nodiscard]] bool connection_lost() const noexcept { return facts_.connection_lost; }
  [[nodiscard]] std::string_view code() const noexcept { return code_; }
  [[nodiscard]] std::string_view native_code() const noexcept { return facts_.native_code; }
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorKind kind_;
  std::string code_;
  std::string what_;
  Facts facts_;
};

}  // namespace pillarbox
