// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/examine.h"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "core/units.h"
#include "sql/embedded.h"
#include "store/sqlite/checkpointer.h"

namespace pillarbox::sqlite {
namespace {

using enum Finding::Level;

constexpr std::uint64_t kWalWarnBytes = 64ULL * 1024 * 1024;

std::uint64_t size_of(const std::string& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : size;
}

Finding library() {
  const std::string version = sqlite3_libversion();
  if (!has_wal_reset_defect(sqlite3_libversion_number()))
    return {ok, "library", "SQLite " + version, ""};
  return {warn, "library",
          "SQLite " + version +
              " can damage a database in WAL mode when one program checkpoints while another "
              "writes; Pillarbox "
              "keeps its own checkpoints apart from its writes, other programs may not",
          "use SQLite 3.51.3, 3.50.7, 3.44.6 or newer, in every program that opens this file; "
          "until then: pragma "
          "wal_autocheckpoint = 0 in those that write"};
}

Finding journal(Connection& db) {
  const std::string mode = db.pragma("pragma journal_mode");
  if (mode == "wal") return {ok, "journal", "journal_mode is wal", ""};
  return {error, "journal", "journal_mode is " + mode + ": readers and the writer stop each other",
          "pragma journal_mode = wal"};
}

Finding log_size(const std::string& path) {
  const std::uint64_t bytes = size_of(path + "-wal");
  const std::string text = "write-ahead log " + core::describe_size(bytes) + " beside " +
                           core::describe_size(size_of(path)) + " of database";
  if (bytes <= kWalWarnBytes) return {ok, "log", text, ""};
  return {warn, "log", text + ": a reader that never ends keeps it from being reset",
          "find the program with a transaction or a cursor left open"};
}

Finding rights(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  if (::access(path.c_str(), R_OK | W_OK) == 0 && ::access(parent.c_str(), W_OK | X_OK) == 0)
    return {ok, "rights", "the file and its directory can be written", ""};
  return {error, "rights", "the file or its directory cannot be written by this user",
          "chown or chmod " + path + " and its directory"};
}

Finding plan(Connection& db) {
  constexpr std::array<const char*, 5> kParameters = {":now", ":available_from", ":id_from",
                                                      ":filtered", ":excluded"};
  const std::string_view claim =
      sql::statement(sql::sqlite_files(), "statements/claim_pending.sql");
  Statement explain(db.raw(), "claim_pending.sql", "explain query plan " + std::string(claim),
                    kParameters);
  auto rows = explain.query(0, 0, 0, 0, "[]");
  std::string first;
  bool sorts = false;
  while (rows.next()) {
    const std::string line = rows.text(3);
    if (first.empty()) first = line;
    sorts = sorts || line.find("TEMP B-TREE FOR ORDER BY") != std::string::npos;
  }
  const bool right = first.find("pillarbox_outbox_pending") != std::string::npos && !sorts;
  return {right ? ok : error, "claim", "the claim's plan: " + first,
          right ? "" : "pillarbox migrate verify"};
}

Finding integrity(Connection& db) {
  // Pages on the free list, and the file's own word on its size: what can be told without reading
  // it.
  const std::string pages = db.pragma("pragma page_count");
  const std::string unused = db.pragma("pragma freelist_count");
  return {ok, "size", pages + " pages, " + unused + " of them free", ""};
}

Finding durability(Connection& db) {
  const std::string level = db.pragma("pragma synchronous");
  return {ok, "durability",
          "an operator's acts are synced to the disk (synchronous = " + level +
              "); a producer's commits are as durable as its own connection says",
          ""};
}

}  // namespace

bool has_wal_reset_defect(int version_number) noexcept {
  const int minor = version_number / 1000;
  const int patch = version_number % 1000;
  if (minor >= 3052) return false;
  if (minor == 3051) return patch < 3;
  if (minor == 3050) return patch < 7;
  if (minor == 3044) return patch < 6;
  return true;
}

std::vector<Finding> examine(Connection& db) {
  return {library(),      journal(db),   rights(db.path()), log_size(db.path()),
          durability(db), integrity(db), plan(db)};
}

}  // namespace pillarbox::sqlite
