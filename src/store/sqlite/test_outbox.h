// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pillarbox/error.h"
#include "pillarbox/sqlite.h"
#include "pillarbox/store.h"
#include "store/sqlite/factory.h"

namespace pillarbox::sqlite {

// A directory of its own, gone at the end.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "pillarbox-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Another program's connection: plain SQLite with nothing of ours but the SQL.
class Shell {
 public:
  explicit Shell(const std::string& path) {
    if (sqlite3_open(path.c_str(), &raw_) != SQLITE_OK) throw std::runtime_error("cannot open");
    sqlite3_busy_timeout(raw_, 5'000);
  }
  ~Shell() { sqlite3_close(raw_); }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // Every row, its columns joined by '|'. Throws with SQLite's text.
  std::vector<std::string> rows(const std::string& sql) {
    std::vector<std::string> out;
    char* error = nullptr;
    const auto add = [](void* to, int count, char** values, char**) {
      std::string line;
      for (int i = 0; i < count; ++i) {
        if (i > 0) line += '|';
        line += values[i] == nullptr ? "null" : values[i];
      }
      static_cast<std::vector<std::string>*>(to)->push_back(line);
      return 0;
    };
    if (sqlite3_exec(raw_, sql.c_str(), add, &out, &error) != SQLITE_OK) {
      const std::string text = error == nullptr ? "?" : error;
      sqlite3_free(error);
      throw std::runtime_error(text);
    }
    return out;
  }
  std::string one(const std::string& sql) {
    const auto all = rows(sql);
    return all.empty() ? std::string("(no row)") : all.front();
  }
  // The refusal's text, or "" when it was taken.
  std::string refusal(const std::string& sql) {
    try {
      rows(sql);
      return "";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  sqlite3* raw() { return raw_; }

 private:
  sqlite3* raw_ = nullptr;
};

// A fresh outbox in a file of its own.
class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() { factory_->schema(options())->up({}, nullptr); }

  [[nodiscard]] std::string file() const { return (directory_.path() / "app.db").string(); }
  [[nodiscard]] StoreOptions options(std::string claimed_by = "host-a:1:aaaaaaaa") const {
    return {.url = "sqlite:" + file(), .claimed_by = std::move(claimed_by)};
  }
  [[nodiscard]] std::unique_ptr<Store> connect(std::string claimed_by = "host-a:1:aaaaaaaa") const {
    return factory_->connect(options(std::move(claimed_by)));
  }

  TestDirectory directory_;
  std::shared_ptr<const StoreFactory> factory_ = make_factory();
};

}  // namespace pillarbox::sqlite
