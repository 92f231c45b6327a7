// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/store.h"

// The files of sql/, as they were when this program was built.
namespace pillarbox::sql {

struct EmbeddedFile {
  std::string_view name;  // below the database's folder: "statements/claim.sql", "001_outbox.sql"
  std::string_view text;
};

std::span<const EmbeddedFile> sqlite_files() noexcept;
std::span<const EmbeddedFile> postgresql_files() noexcept;

// The text of one file; asserts that it exists.
std::string_view statement(std::span<const EmbeddedFile> files, std::string_view name);

// The numbered files NNN_name.sql in order, with SHA-256 checksums over the text as embedded.
std::vector<MigrationStep> migrations(std::span<const EmbeddedFile> files);

// Files speak of schema `pillarbox`; returns the text for another one. `schema` must be a plain
// lower-case name.
std::string in_schema(std::string_view text, std::string_view schema);

}  // namespace pillarbox::sql
