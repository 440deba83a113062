// SPDX-License-Identifier: Apache-2.0
/// SQLite's connection and statements, as values; its errors as StoreError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace likewise::server {

/// One connection. Not thread-safe.
class SqliteConnection {
 public:
  /// Opens, and makes the file where it is missing.
  explicit SqliteConnection(const std::string& path);
  /// Several statements, without results.
  void run(const std::string& sql);
  /// Throws StoreError where `code` is an error.
  void check(int code) const;
  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  /// Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement; parameters and columns are counted from 1 and from 0, as in SQLite.
class SqliteStatement {
 public:
  SqliteStatement(SqliteConnection& connection, std::string_view sql);

  /// Texts are borrowed until reset().
  SqliteStatement& bind(int at, std::string_view text);
  SqliteStatement& bind(int at, std::int64_t number);
  SqliteStatement& bind(int at, std::optional<double> number);
  SqliteStatement& bind_text_or_null(int at, std::string_view text);
  /// Whether there is a row.
  bool step();
  void reset();
  /// For a statement without results.
  void run() {
    step();
    reset();
  }
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<double> number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  SqliteConnection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// BEGIN IMMEDIATE, and ROLLBACK unless commit() was reached.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteConnection& connection);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  void commit();

 private:
  SqliteConnection& connection_;
  bool open_ = true;
};

}  // namespace likewise::server
