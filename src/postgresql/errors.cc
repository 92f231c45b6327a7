// SPDX-License-Identifier: Apache-2.0
#include "postgresql/errors.h"

namespace pillarbox::postgresql {

Meaning meaning_of(std::string_view s) noexcept {
  using enum ErrorKind;
  const std::string_view group = s.substr(0, 2);
  if (s == "PB001") return {invalid_input, "PBX-1013", false, false, ""};
  if (s == "40001" || s == "40P01" || s == "55P03") return {conflict, "PBX-4003", false, false, ""};
  // A cached plan or a prepared statement that a migration or a pooler took away.
  if (s == "0A000" || s == "26000" || s == "42P05")
    return {conflict, "PBX-4003", false, true, "a prepared statement was out of date"};
  if (s == "57014") return {timeout, "PBX-4002", false, false, "look for long transactions"};
  if (s == "25006") {
    return {refused, "PBX-4004", true, false,
            "the server is read-only; a list of hosts in the URL finds the primary"};
  }
  if (group == "08" || s == "57P01" || s == "57P02" || s == "57P03" || s == "57P04" ||
      s == "57P05" || s == "25P03") {
    return {unreachable, "PBX-4001", true, false, ""};
  }
  if (s == "53300") {
    return {unreachable, "PBX-4001", true, false, "raise max_connections, or use a pooler"};
  }
  if (group == "28" || s == "3D000") {
    return {unreachable, "PBX-4007", true, false, "check user, password, database and pg_hba.conf"};
  }
  if (s == "42P01" || s == "3F000")
    return {schema, "PBX-3001", false, true, "run: pillarbox migrate"};
  if (s == "42883" || s == "42703" || s == "42P18")
    return {schema, "PBX-3002", false, true, "run: pillarbox migrate, pillarbox migrate verify"};
  if (s == "42501") return {refused, "PBX-4007", false, false, "grant the role that it needs"};
  if (s == "53100") return {refused, "PBX-4005", false, false, "make room"};
  if (group == "53" || group == "58")
    return {refused, "PBX-4008", false, false, "check the server's disk and memory"};
  if (s == "XX001" || s == "XX002") {
    return {refused, "PBX-4006", false, false, "the database is damaged: restore a backup"};
  }
  if (group == "22" || group == "23") return {invalid_input, "PBX-1050", false, false, ""};
  return {internal, "PBX-4010", false, false, ""};
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
