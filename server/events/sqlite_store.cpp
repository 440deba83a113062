// SPDX-License-Identifier: Apache-2.0
#include "server/events/sqlite_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace likewise::server {
namespace {

/// PRAGMA application_id: "lkev".
constexpr std::int64_t kApplication = 0x6C6B6576;
constexpr std::int64_t kVersion = 1;

constexpr const char* kSchema = R"(
CREATE TABLE store(id TEXT NOT NULL, newest INTEGER NOT NULL);
INSERT INTO store VALUES(lower(hex(randomblob(16))), 0);
CREATE TABLE events(
  position INTEGER PRIMARY KEY,
  user TEXT NOT NULL,
  item TEXT NOT NULL,
  value REAL,
  time INTEGER NOT NULL,
  key TEXT,
  received INTEGER NOT NULL);
CREATE INDEX events_by_user ON events(user);
CREATE UNIQUE INDEX events_by_key ON events(key) WHERE key IS NOT NULL;
CREATE TABLE erasures(
  position INTEGER PRIMARY KEY, user TEXT NOT NULL, time INTEGER NOT NULL);
CREATE INDEX erasures_by_user ON erasures(user);
)";

constexpr std::string_view kInsertEvent =
    "INSERT INTO events(position, user, item, value, time, key, received) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(key) WHERE key IS NOT NULL DO NOTHING";
constexpr std::string_view kColumns = "SELECT position, user, item, value, time, key FROM events ";

[[nodiscard]] std::int64_t integer_of(SqliteConnection& connection, std::string_view sql) {
  SqliteStatement statement(connection, sql);
  return statement.step() ? statement.integer(0) : 0;
}

[[nodiscard]] std::vector<StoredEvent> events_of(SqliteStatement& rows) {
  std::vector<StoredEvent> events;
  while (rows.step()) {
    const std::optional<double> value = rows.number(3);
    events.push_back({rows.integer(0),
                      {rows.text(1), rows.text(2),
                       value ? std::optional(static_cast<float>(*value)) : std::nullopt,
                       rows.integer(4), rows.text(5)}});
  }
  return events;
}

/// Deleted events leave no bytes behind. The pages of the journal are folded in while the file is
/// written, at 48 MB: an index by user is written all over, and each of its pages once for many
/// events. The pages in memory, 32 MB, are those of the index.
[[nodiscard]] SqliteConnection opened(const std::string& path) {
  SqliteConnection connection(path);
  connection.run(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
      "PRAGMA wal_autocheckpoint=12000; PRAGMA cache_size=-32768; PRAGMA "
      "journal_size_limit=67108864");
  return connection;
}

/// Makes the tables in a file that has none.
void prepare(SqliteConnection& connection, const std::string& path) {
  SqliteTransaction transaction(connection);
  const std::int64_t application = integer_of(connection, "PRAGMA application_id");
  if (integer_of(connection, "SELECT count(*) FROM sqlite_master") == 0) {
    connection.run(kSchema);
    connection.run(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplication, kVersion));
  } else if (application != kApplication ||
             integer_of(connection, "PRAGMA user_version") != kVersion) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{} is a database, but not one of events that this version of likewise "
                            "writes",
                            printable(path)));
  }
  transaction.commit();
}

[[nodiscard]] Position newest_of(SqliteConnection& connection) {
  return integer_of(connection, "SELECT newest FROM store");
}

void set_newest(SqliteConnection& connection, Position newest) {
  SqliteStatement(connection, "UPDATE store SET newest = ?1").bind(1, newest).run();
}

}  // namespace

SqliteStore::Writer::Writer(const std::string& path)
    : connection(opened(path)), insert(connection, kInsertEvent) {}

SqliteStore::SqliteStore(std::string path) : path_(std::move(path)) {
  SqliteConnection connection = opened(path_);
  file_ = stamp_of(path_);
  prepare(connection, path_);
  SqliteStatement named(connection, "SELECT id FROM store");
  named.step();
  id_ = named.text(0);
  commits_ = std::make_unique<GroupCommit>(
      [this](const std::vector<Event>& events) { return commit(events); });
}

SqliteStore::~SqliteStore() = default;

void SqliteStore::require_in_place() const {
  const auto now = stamp_of(path_);
  if (file_ && now && is_same_file(*now, *file_)) return;
  throw StoreError(StoreError::Reason::kUnavailable,
                   fmt::format("{}: events cannot be stored or read: the file was moved, removed "
                               "or replaced. Move it back, or start the server again to begin "
                               "with what is there",
                               printable(path_, 1000)),
                   "events cannot be stored or read now");
}

/// After an error the connection is closed: what it held of the file may be wrong.
template <class Kept, class Work>
auto SqliteStore::with(Shared<Kept>& shared, const Work& work) {
  const std::lock_guard lock(shared.mutex);
  try {
    require_in_place();
    if (!shared.kept) shared.kept.emplace(path_);
    return work(*shared.kept);
  } catch (const StoreError&) {
    shared.kept.reset();
    throw;
  }
}

void SqliteStore::submit(std::vector<Event> events, WhenAppended done) {
  commits_->submit(std::move(events), std::move(done));
}

std::vector<Position> SqliteStore::commit(const std::vector<Event>& events) {
  return with(writer_, [&](Writer& writer) {
    SqliteTransaction transaction(writer.connection);
    Position position = newest_of(writer.connection);
    const Microseconds received = now();
    std::vector<Position> positions;
    for (const Event& event : events) {
      writer.insert.bind(1, ++position)
          .bind(2, event.user)
          .bind(3, event.item)
          .bind(4, event.value)
          .bind(5, event.time)
          .bind_text_or_null(6, event.key)
          .bind(7, received)
          .run();
      positions.push_back(writer.connection.changes() > 0 ? position : 0);
    }
    set_newest(writer.connection, position);
    transaction.commit();
    return positions;
  });
}

Position SqliteStore::newest() {
  return commits_->between_groups([this] { return with(reader_, newest_of); });
}

std::vector<StoredEvent> SqliteStore::read(Position after, Position upto, Offset most) {
  return with(reader_, [&](SqliteConnection& connection) {
    SqliteStatement rows(connection,
                         std::string(kColumns) +
                             "WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT ?3");
    return events_of(rows.bind(1, after).bind(2, upto).bind(3, most));
  });
}

std::vector<StoredEvent> SqliteStore::read_user(const std::string& user, Position after) {
  return with(reader_, [&](SqliteConnection& connection) {
    SqliteStatement rows(
        connection, std::string(kColumns) + "WHERE user = ?1 AND position > ?2 ORDER BY position");
    return events_of(rows.bind(1, user).bind(2, after));
  });
}

Offset SqliteStore::count() {
  return with(reader_, [](SqliteConnection& connection) {
    return integer_of(connection, "SELECT count(*) FROM events");
  });
}

EventStore::Erased SqliteStore::erase(const std::string& user, Microseconds at) {
  return with(writer_, [&](Writer& writer) {
    SqliteConnection& connection = writer.connection;
    SqliteTransaction transaction(connection);
    SqliteStatement before(connection, "SELECT max(time) FROM erasures WHERE user = ?1");
    before.bind(1, user).step();
    Erased erased{0, {newest_of(connection) + 1, user, std::max(at, before.integer(0))}};
    before.reset();
    SqliteStatement(connection, "DELETE FROM events WHERE user = ?1").bind(1, user).run();
    erased.events = connection.changes();
    SqliteStatement(connection, "DELETE FROM erasures WHERE user = ?1").bind(1, user).run();
    SqliteStatement(connection, "INSERT INTO erasures VALUES(?1, ?2, ?3)")
        .bind(1, erased.erasure.position)
        .bind(2, user)
        .bind(3, erased.erasure.time)
        .run();
    set_newest(connection, erased.erasure.position);
    transaction.commit();
    // The journal still has what was deleted; a reader may keep it for a moment.
    connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return erased;
  });
}

std::vector<Erasure> SqliteStore::erasures(Position after) {
  return with(reader_, [&](SqliteConnection& connection) {
    SqliteStatement rows(
        connection,
        "SELECT position, user, time FROM erasures WHERE position > ?1 ORDER BY position");
    rows.bind(1, after);
    std::vector<Erasure> found;
    while (rows.step()) found.push_back({rows.integer(0), rows.text(1), rows.integer(2)});
    return found;
  });
}

Offset SqliteStore::compact(Position upto, Microseconds before, Microseconds trained) {
  return with(writer_, [&](Writer& writer) {
    SqliteStatement(writer.connection,
                    "DELETE FROM events WHERE position <= ?1 AND received < ?2 "
                    "AND user NOT IN (SELECT user FROM erasures WHERE time >= ?3)")
        .bind(1, upto)
        .bind(2, before)
        .bind(3, trained)
        .run();
    return Offset{writer.connection.changes()};
  });
}

}  // namespace likewise::server
