// SPDX-License-Identifier: Apache-2.0
#include "server/events/event_store.h"

#include <algorithm>
#include <future>
#include <utility>

#include "server/events/sqlite_store.h"
#ifdef LIKEWISE_POSTGRES
#include "server/events/postgres_store.h"
#endif

namespace likewise::server {
namespace {

[[nodiscard]] bool is_postgres(const std::string& where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

[[nodiscard]] std::unique_ptr<EventStore> open_postgres([[maybe_unused]] const std::string& url) {
#ifdef LIKEWISE_POSTGRES
  return std::make_unique<PostgresStore>(url);
#else
  throw Error(ErrorKind::kInvalidArgument,
              "this program was built without PostgreSQL: build it where libpq-dev is installed, "
              "or name a file for the events");
#endif
}

}  // namespace

bool has_postgres() {
#ifdef LIKEWISE_POSTGRES
  return true;
#else
  return false;
#endif
}

Offset Appended::stored() const {
  return std::ranges::count_if(events, [](const StoredEvent& one) { return one.position > 0; });
}

Appended EventStore::append(std::vector<Event> events) {
  std::promise<Appended> promise;
  submit(std::move(events), [&](Appended done) { promise.set_value(std::move(done)); });
  Appended appended = promise.get_future().get();
  if (appended.error) std::rethrow_exception(appended.error);
  return appended;
}

std::unique_ptr<EventStore> open_event_store(const std::string& where) {
  if (is_postgres(where)) return open_postgres(where);
  if (where.find("://") != std::string::npos) {
    throw Error(ErrorKind::kInvalidArgument,
                printable(where) + ": events are in a file or in postgresql://...");
  }
  return std::make_unique<SqliteStore>(where);
}

std::string shown_place(const std::string& where) {
  const std::size_t scheme = where.find("://");
  const std::size_t at = where.find('@');
  if (scheme == std::string::npos || at == std::string::npos) {
    return printable(where.substr(0, where.find('?')), 200);
  }
  return printable(where.substr(0, scheme + 3) + where.substr(at + 1, where.find('?') - at - 1),
                   200);
}

}  // namespace likewise::server
