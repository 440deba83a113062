// SPDX-License-Identifier: Apache-2.0
#include "server/events/postgres.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <libpq-fe.h>
#include <poll.h>

#include <fmt/format.h>

#include "server/events/event_store.h"

namespace likewise::server {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{5};
/// SQLSTATE.
constexpr std::string_view kDiskFull = "53100";

template <class Number>
[[nodiscard]] Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

[[nodiscard]] std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// In milliseconds, at least 0.
[[nodiscard]] int left_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

PostgresResult::PostgresResult(pg_result* result) : result_(result, PQclear) {}

int PostgresResult::rows() const { return PQntuples(get()); }
std::int64_t PostgresResult::integer(int row, int column) const {
  return number_of<std::int64_t>(PQgetvalue(get(), row, column));
}
std::optional<double> PostgresResult::number(int row, int column) const {
  if (PQgetisnull(get(), row, column) != 0) return std::nullopt;
  return number_of<double>(PQgetvalue(get(), row, column));
}
std::string PostgresResult::text(int row, int column) const {
  return {PQgetvalue(get(), row, column),
          static_cast<std::size_t>(PQgetlength(get(), row, column))};
}
std::int64_t PostgresResult::affected() const {
  return number_of<std::int64_t>(PQcmdTuples(get()));
}

void PostgresConnection::Finish::operator()(pg_conn* handle) const { PQfinish(handle); }

PostgresConnection::PostgresConnection(const std::string& url) : place_(shown_place(url)) {
  const char* const names[] = {"dbname", "connect_timeout", "client_encoding", "application_name",
                               nullptr};
  const char* const values[] = {url.c_str(), "3", "UTF8", "likewise", nullptr};
  handle_.reset(PQconnectdbParams(names, values, 1));
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);  // it would print
  if (PQstatus(handle_.get()) != CONNECTION_OK) refuse(PQerrorMessage(handle_.get()));
}

PostgresResult PostgresConnection::run(const std::string& sql,
                                       const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  if (PQsendQueryParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 0) {
    refuse(PQerrorMessage(handle_.get()));
  }
  wait_for_answer();
  const PostgresResult result(PQgetResult(handle_.get()));
  while (pg_result* rest = PQgetResult(handle_.get())) PQclear(rest);  // the end of the answer
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    refuse(PQerrorMessage(handle_.get()), result.get());
  }
  return result;
}

void PostgresConnection::wait_for_answer() const {
  const auto end = Clock::now() + kPatience;
  while (PQisBusy(handle_.get()) != 0) {
    pollfd waited{PQsocket(handle_.get()), POLLIN, 0};
    if (poll(&waited, 1, left_until(end)) == 0) {
      refuse(fmt::format("no answer within {} seconds", kPatience.count()));
    }
    if (PQconsumeInput(handle_.get()) == 0) refuse(PQerrorMessage(handle_.get()));
  }
}

void PostgresConnection::refuse(std::string_view reason, const pg_result* result) const {
  const char* state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const bool full = state != nullptr && state == kDiskFull;
  throw StoreError(full ? StoreError::Reason::kFull : StoreError::Reason::kUnavailable,
                   fmt::format("{}: events cannot be {}: {}", place_,
                               full ? "stored, there is no room" : "stored or read",
                               printable(first_line(reason), 300)));
}

void check_postgres_url(const std::string& url) {
  char* reason = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.c_str(), &reason);
  const std::string why = reason == nullptr ? "" : std::string(first_line(reason));
  PQfreemem(reason);
  if (options == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {}", shown_place(url), printable(why, 300)));
  }
  PQconninfoFree(options);
}

}  // namespace likewise::server
