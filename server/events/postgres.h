// SPDX-License-Identifier: Apache-2.0
/// libpq's connection and results, as values; its errors as StoreError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;
struct pg_result;

namespace likewise::server {

/// Rows of text.
class PostgresResult {
 public:
  explicit PostgresResult(pg_result* result);
  [[nodiscard]] int rows() const;
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] std::optional<double> number(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const;
  /// Rows that the statement changed.
  [[nodiscard]] std::int64_t affected() const;
  [[nodiscard]] pg_result* get() const { return result_.get(); }

 private:
  std::shared_ptr<pg_result> result_;
};

/// One connection. Not thread-safe. A server that does not answer in time is one that is away.
class PostgresConnection {
 public:
  explicit PostgresConnection(const std::string& url);
  /// One statement, with parameters $1, $2, ... as text, and the end of its transaction, where it
  /// is not in a larger one. Throws StoreError; the connection is of no use then.
  PostgresResult run(const std::string& sql, const std::vector<std::string>& parameters = {});

 private:
  struct Finish {
    void operator()(pg_conn* handle) const;
  };
  void wait_for_answer() const;
  [[noreturn]] void refuse(std::string_view reason, const pg_result* result = nullptr) const;

  std::string place_;
  std::unique_ptr<pg_conn, Finish> handle_;
};

/// Throws Error(kInvalidArgument) where it is none.
void check_postgres_url(const std::string& url);

}  // namespace likewise::server
