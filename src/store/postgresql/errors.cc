// SPDX-License-Identifier: Apache-2.0
#include "store/postgresql/errors.h"

namespace pillarbox::postgresql {

Meaning meaning_of(std::string_view s) noexcept {
  const std::string_view group = s.substr(0, 2);
  if (s == "PB001") return {ErrorKind::invalid_input, "PBX-1010", false, false, ""};
  if (s == "40001" || s == "40P01" || s == "55P03")
    return {ErrorKind::conflict, "PBX-4001", false, false, ""};
  if (s == "57014")
    return {ErrorKind::timeout, "PBX-4002", false, false, "the statement was cancelled"};
  if (s == "25006") {
    return {ErrorKind::refused, "PBX-4003", true, false,
            "the server is read-only; a host list with target_session_attrs=read-write finds the "
            "primary"};
  }
  if (s == "25P03" || s == "57P01" || s == "57P02" || s == "57P03" || s == "57P04" ||
      s == "57P05" || group == "08") {
    return {ErrorKind::unreachable, "PBX-4004", true, false,
            "the server ended the connection or does not take any"};
  }
  if (s == "53300")
    return {ErrorKind::unreachable, "PBX-4004", true, false,
            "raise max_connections or use a pooler"};
  if (group == "28")
    return {ErrorKind::unreachable, "PBX-4005", true, false,
            "check user, password and pg_hba.conf"};
  if (s == "3D000")
    return {ErrorKind::unreachable, "PBX-4005", true, false,
            "check the database's name in the URL"};
  if (s == "42P01" || s == "3F000" || s == "42883" || s == "42703") {
    return {ErrorKind::schema, "PBX-3001", false, true, "run: pillarbox migrate"};
  }
  if (s == "0A000" || s == "26000" || s == "42P05") {
    return {ErrorKind::conflict, "PBX-4001", false, true, "a prepared statement was out of date"};
  }
  if (s == "42501")
    return {ErrorKind::refused, "PBX-4006", false, false, "grant the role pillarbox_relay"};
  if (s == "53100")
    return {ErrorKind::refused, "PBX-4007", false, false, "the server's disk is full"};
  if (group == "53")
    return {ErrorKind::refused, "PBX-4007", false, false, "the server lacks a resource"};
  if (group == "22" || group == "23")
    return {ErrorKind::refused, "PBX-4008", false, false, "the server refused the data"};
  return {ErrorKind::internal, "PBX-4009", false, false, ""};
}

Error make_error(std::string_view sqlstate, std::string_view where, std::string_view message,
                 bool in_doubt) {
  const Meaning meaning = meaning_of(sqlstate);
  std::string text = "PostgreSQL, " + std::string(where) + ": ";
  std::string_view words = message;
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.remove_suffix(1);
  text += words;
  if (!meaning.advice.empty()) text += " (" + std::string(meaning.advice) + ")";
  return Error(meaning.kind, meaning.code, std::move(text),
               {in_doubt, meaning.connection_lost, std::string(sqlstate)});
}

}  // namespace pillarbox::postgresql
