// SPDX-License-Identifier: Apache-2.0
#include "server/events/sqlite.h"

#include <cerrno>
#include <cstring>
#include <sqlite3.h>

#include <fmt/format.h>

#include "server/events/event_store.h"

namespace likewise::server {
namespace {

constexpr int kBusyMilliseconds = 5000;

/// A quota or a limit of files is SQLITE_IOERR_WRITE, without the system's number; so is a disk
/// that cannot be written, which keeps as little.
[[nodiscard]] bool is_full(int code) {
  return code == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE;
}

}  // namespace

void SqliteConnection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void SqliteStatement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

SqliteConnection::SqliteConnection(const std::string& path) : path_(path) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  check(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
}

void SqliteConnection::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  if (code == SQLITE_NOTADB) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{} is no SQLite file, so no events are in it", printable(path_)));
  }
  const bool full = is_full(code);
  std::string reason = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  // "unable to open database file" alone leaves out why.
  const int system = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  if ((code & 0xFF) == SQLITE_CANTOPEN && system != 0) {
    reason += fmt::format(" ({})", std::strerror(system));
  }
  const std::string what =
      full ? "events cannot be stored, there is no room" : "events cannot be stored or read";
  throw StoreError(full ? StoreError::Reason::kFull : StoreError::Reason::kUnavailable,
                   fmt::format("{}: {}: {}", printable(path_, 1000), what, reason),
                   what + (full ? "" : " now"));
}

void SqliteConnection::run(const std::string& sql) {
  check(sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t SqliteConnection::changes() const { return sqlite3_changes(get()); }

SqliteStatement::SqliteStatement(SqliteConnection& connection, std::string_view sql)
    : connection_(connection) {
  sqlite3_stmt* handle = nullptr;
  connection.check(sqlite3_prepare_v3(connection.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr));
  handle_.reset(handle);
}

SqliteStatement& SqliteStatement::bind(int at, std::string_view text) {
  connection_.check(sqlite3_bind_text(handle_.get(), at, text.data(), static_cast<int>(text.size()),
                                      SQLITE_STATIC));
  return *this;
}
SqliteStatement& SqliteStatement::bind(int at, std::int64_t number) {
  connection_.check(sqlite3_bind_int64(handle_.get(), at, number));
  return *this;
}
SqliteStatement& SqliteStatement::bind(int at, std::optional<double> number) {
  connection_.check(number ? sqlite3_bind_double(handle_.get(), at, *number)
                           : sqlite3_bind_null(handle_.get(), at));
  return *this;
}
SqliteStatement& SqliteStatement::bind_text_or_null(int at, std::string_view text) {
  if (!text.empty()) return bind(at, text);
  connection_.check(sqlite3_bind_null(handle_.get(), at));
  return *this;
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    sqlite3_reset(handle_.get());
    connection_.check(code);
  }
  return code == SQLITE_ROW;
}

void SqliteStatement::reset() { sqlite3_reset(handle_.get()); }

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}
std::optional<double> SqliteStatement::number(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_.get(), column);
}
std::string SqliteStatement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

SqliteTransaction::SqliteTransaction(SqliteConnection& connection) : connection_(connection) {
  connection_.run("BEGIN IMMEDIATE");
}

SqliteTransaction::~SqliteTransaction() {
  if (open_) sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteTransaction::commit() {
  connection_.run("COMMIT");
  open_ = false;
}

}  // namespace likewise::server
