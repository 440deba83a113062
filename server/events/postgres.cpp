// SPDX-License-Identifier: Apache-2.0
#include "server/events/postgres.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <dlfcn.h>
#include <libpq-fe.h>
#include <poll.h>

#include <fmt/format.h>

#include "likewise/error.h"
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

/// The client library, loaded where events are in PostgreSQL: nothing else needs it.
class Libpq {
 public:
  Libpq() {
    if (handle_ == nullptr) {
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("events in PostgreSQL need its client library, and {}; install it (Debian: "
                      "libpq5)",
                      dlerror()));
    }
    load(PQclear, "PQclear");
    load(PQcmdTuples, "PQcmdTuples");
    load(PQconnectdbParams, "PQconnectdbParams");
    load(PQconninfoFree, "PQconninfoFree");
    load(PQconninfoParse, "PQconninfoParse");
    load(PQconsumeInput, "PQconsumeInput");
    load(PQerrorMessage, "PQerrorMessage");
    load(PQfinish, "PQfinish");
    load(PQfreemem, "PQfreemem");
    load(PQgetResult, "PQgetResult");
    load(PQgetisnull, "PQgetisnull");
    load(PQgetlength, "PQgetlength");
    load(PQgetvalue, "PQgetvalue");
    load(PQisBusy, "PQisBusy");
    load(PQntuples, "PQntuples");
    load(PQresultErrorField, "PQresultErrorField");
    load(PQresultStatus, "PQresultStatus");
    load(PQsendQueryParams, "PQsendQueryParams");
    load(PQsetNoticeProcessor, "PQsetNoticeProcessor");
    load(PQsocket, "PQsocket");
    load(PQstatus, "PQstatus");
  }

  decltype(&::PQclear) PQclear = nullptr;
  decltype(&::PQcmdTuples) PQcmdTuples = nullptr;
  decltype(&::PQconnectdbParams) PQconnectdbParams = nullptr;
  decltype(&::PQconninfoFree) PQconninfoFree = nullptr;
  decltype(&::PQconninfoParse) PQconninfoParse = nullptr;
  decltype(&::PQconsumeInput) PQconsumeInput = nullptr;
  decltype(&::PQerrorMessage) PQerrorMessage = nullptr;
  decltype(&::PQfinish) PQfinish = nullptr;
  decltype(&::PQfreemem) PQfreemem = nullptr;
  decltype(&::PQgetResult) PQgetResult = nullptr;
  decltype(&::PQgetisnull) PQgetisnull = nullptr;
  decltype(&::PQgetlength) PQgetlength = nullptr;
  decltype(&::PQgetvalue) PQgetvalue = nullptr;
  decltype(&::PQisBusy) PQisBusy = nullptr;
  decltype(&::PQntuples) PQntuples = nullptr;
  decltype(&::PQresultErrorField) PQresultErrorField = nullptr;
  decltype(&::PQresultStatus) PQresultStatus = nullptr;
  decltype(&::PQsendQueryParams) PQsendQueryParams = nullptr;
  decltype(&::PQsetNoticeProcessor) PQsetNoticeProcessor = nullptr;
  decltype(&::PQsocket) PQsocket = nullptr;
  decltype(&::PQstatus) PQstatus = nullptr;

 private:
  template <class Function>
  void load(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function != nullptr) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("events in PostgreSQL: its client library has no {}", name));
  }

  void* handle_ = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
};

/// Thread-safe.
[[nodiscard]] const Libpq& libpq() {
  static const Libpq library;
  return library;
}

}  // namespace

PostgresResult::PostgresResult(pg_result* result) : result_(result, libpq().PQclear) {}

int PostgresResult::rows() const { return libpq().PQntuples(get()); }
std::int64_t PostgresResult::integer(int row, int column) const {
  return number_of<std::int64_t>(libpq().PQgetvalue(get(), row, column));
}
std::optional<double> PostgresResult::number(int row, int column) const {
  if (libpq().PQgetisnull(get(), row, column) != 0) return std::nullopt;
  return number_of<double>(libpq().PQgetvalue(get(), row, column));
}
std::string PostgresResult::text(int row, int column) const {
  return {libpq().PQgetvalue(get(), row, column),
          static_cast<std::size_t>(libpq().PQgetlength(get(), row, column))};
}
std::int64_t PostgresResult::affected() const {
  return number_of<std::int64_t>(libpq().PQcmdTuples(get()));
}

void PostgresConnection::Finish::operator()(pg_conn* handle) const { libpq().PQfinish(handle); }

PostgresConnection::PostgresConnection(const std::string& url) : place_(shown_place(url)) {
  const char* const names[] = {"dbname", "connect_timeout", "client_encoding", "application_name",
                               nullptr};
  const char* const values[] = {url.c_str(), "3", "UTF8", "likewise", nullptr};
  handle_.reset(libpq().PQconnectdbParams(names, values, 1));
  libpq().PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);  // it would print
  if (libpq().PQstatus(handle_.get()) != CONNECTION_OK)
    refuse(libpq().PQerrorMessage(handle_.get()));
}

PostgresResult PostgresConnection::run(const std::string& sql,
                                       const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  if (libpq().PQsendQueryParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()),
                                nullptr, values.data(), nullptr, nullptr, 0) == 0) {
    refuse(libpq().PQerrorMessage(handle_.get()));
  }
  // Rows may come before the transaction has ended. Where it cannot end, or the server dies
  // meanwhile, an error comes after them.
  std::optional<PostgresResult> answer;
  for (;;) {
    wait_for_answer();
    pg_result* next = libpq().PQgetResult(handle_.get());
    if (next == nullptr) break;
    answer.emplace(next);
    const ExecStatusType status = libpq().PQresultStatus(next);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      refuse(libpq().PQerrorMessage(handle_.get()), next);
    }
  }
  if (!answer) refuse("no answer");
  return *answer;
}

void PostgresConnection::wait_for_answer() const {
  const auto end = Clock::now() + kPatience;
  while (libpq().PQisBusy(handle_.get()) != 0) {
    pollfd waited{libpq().PQsocket(handle_.get()), POLLIN, 0};
    if (poll(&waited, 1, left_until(end)) == 0) {
      refuse(fmt::format("no answer within {} seconds", kPatience.count()));
    }
    if (libpq().PQconsumeInput(handle_.get()) == 0) refuse(libpq().PQerrorMessage(handle_.get()));
  }
}

void PostgresConnection::refuse(std::string_view reason, const pg_result* result) const {
  const char* state =
      result == nullptr ? nullptr : libpq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const bool full = state != nullptr && state == kDiskFull;
  const std::string what =
      full ? "events cannot be stored, there is no room" : "events cannot be stored or read";
  throw StoreError(full ? StoreError::Reason::kFull : StoreError::Reason::kUnavailable,
                   fmt::format("{}: {}: {}", place_, what, printable(first_line(reason), 300)),
                   what + (full ? "" : " now"));
}

void check_postgres_url(const std::string& url) {
  char* reason = nullptr;
  PQconninfoOption* options = libpq().PQconninfoParse(url.c_str(), &reason);
  const std::string why = reason == nullptr ? "" : std::string(first_line(reason));
  libpq().PQfreemem(reason);
  if (options == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {}", shown_place(url), printable(why, 300)));
  }
  libpq().PQconninfoFree(options);
}

}  // namespace likewise::server
