// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include <string>

namespace pillarbox::sqlite {
namespace {

struct Meaning {
  ErrorKind kind;
  std::string_view code;
  std::string_view advice;
  bool connection_lost = false;
};

Meaning meaning_of_error(std::string_view text) {
  const auto says = [&](std::string_view what) {
    return text.find(what) != std::string_view::npos;
  };
  if (says("no such table: pillarbox_") || says("no such table: main.pillarbox_"))
    return {ErrorKind::schema, "PBX-3001", "there is no outbox here: run `pillarbox migrate`"};
  if (says("no such column") || says("has no column named") || says("no such index"))
    return {ErrorKind::schema, "PBX-3002",
            "the outbox is not as this version needs it: run `pillarbox migrate verify`"};
  return {ErrorKind::internal, "PBX-4010", "this is a defect of Pillarbox; please report it"};
}

Meaning meaning_of(int extended_code, std::string_view text) {
  switch (extended_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::conflict, "PBX-4003",
              "another connection held the write lock for the whole time; find the program that "
              "keeps a "
              "transaction open"};
    case SQLITE_INTERRUPT:
      return {ErrorKind::timeout, "PBX-4002", "the statement took longer than its time limit"};
    case SQLITE_FULL:
      return {ErrorKind::refused, "PBX-4005", "the disk or the database is full: make room"};
    case SQLITE_READONLY:
      return {ErrorKind::refused, "PBX-4004",
              "the database cannot be written: check the rights of the file and of its directory",
              true};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorKind::refused, "PBX-4007", "access was refused: check the rights of the file",
              true};
    case SQLITE_CANTOPEN:
      return {
          ErrorKind::unreachable, "PBX-4001",
          "the database file cannot be opened: check the path and the rights, or create it with "
          "`pillarbox migrate`",
          true};
    case SQLITE_CORRUPT:
      return {ErrorKind::refused, "PBX-4006",
              "the database file is damaged: stop writing, run `sqlite3 FILE '.recover'` or "
              "restore a backup",
              true};
    case SQLITE_NOTADB:
      return {ErrorKind::refused, "PBX-4006", "the file is not an SQLite database: check the path",
              true};
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
      return {ErrorKind::unreachable, "PBX-4008",
              "reading or writing the file failed: check the disk, and that the file system "
              "supports locks",
              true};
    case SQLITE_NOMEM:
      return {ErrorKind::unreachable, "PBX-4008", "out of memory", true};
    case SQLITE_CONSTRAINT:
      return {ErrorKind::invalid_input, "PBX-1050", "the database refused the row"};
    case SQLITE_TOOBIG:
      return {ErrorKind::invalid_input, "PBX-1050", "a value is larger than SQLite takes"};
    case SQLITE_SCHEMA:
      return {ErrorKind::conflict, "PBX-4003", "the schema changed meanwhile: repeat"};
    case SQLITE_ERROR:
      return meaning_of_error(text);
    default:
      return {ErrorKind::internal, "PBX-4010", "this is a defect of Pillarbox; please report it"};
  }
}

}  // namespace

Error map_error(int extended_code, std::string_view text, std::string_view where, bool at_commit) {
  const Meaning meaning = meaning_of(extended_code, text);
  std::string what(where);
  what += ": ";
  what += text;
  what += " (";
  what += meaning.advice;
  what += ')';
  Error::Facts facts;
  facts.in_doubt = at_commit && (extended_code & 0xff) == SQLITE_IOERR;
  facts.connection_lost = meaning.connection_lost;
  facts.native_code = std::to_string(extended_code);
  return Error(meaning.kind, meaning.code, std::move(what), std::move(facts));
}

}  // namespace pillarbox::sqlite
