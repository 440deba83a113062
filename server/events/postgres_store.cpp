// SPDX-License-Identifier: Apache-2.0
#include "server/events/postgres_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace likewise::server {
namespace {

/// Servers that start together make the tables one after the other. Where the database trades
/// durability for speed, this connection does not.
constexpr const char* kPrepare[] = {
    "BEGIN",
    "SELECT pg_advisory_xact_lock(7811882120361374068)",
    "SET client_min_messages = warning",
    "CREATE TABLE IF NOT EXISTS likewise_store("
    "id text NOT NULL, version int NOT NULL, newest bigint NOT NULL)",
    "INSERT INTO likewise_store SELECT replace(gen_random_uuid()::text, '-', ''), 1, 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM likewise_store)",
    "CREATE TABLE IF NOT EXISTS likewise_events("
    "position bigint PRIMARY KEY, user_id text NOT NULL, item text NOT NULL, value real, "
    "time bigint NOT NULL, key text, received bigint NOT NULL)",
    "CREATE INDEX IF NOT EXISTS likewise_events_by_user ON likewise_events(user_id, position)",
    "CREATE UNIQUE INDEX IF NOT EXISTS likewise_events_by_key ON likewise_events(key) "
    "WHERE key IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS likewise_erasures("
    "position bigint PRIMARY KEY, user_id text NOT NULL, time bigint NOT NULL)",
    "COMMIT",
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') = 'off'"};

constexpr std::chrono::seconds kBetweenTries{1};

/// $1 rows, then an array for each column.
constexpr const char* kInsertEvents =
    "WITH taken AS (UPDATE likewise_store SET newest = newest + $1::bigint "
    "RETURNING newest - $1::bigint AS base), "
    "put AS (INSERT INTO likewise_events "
    "SELECT base + at, user_id, item, value, time, key, $2::bigint FROM taken, "
    "unnest($3::text[], $4::text[], $5::real[], $6::bigint[], $7::text[]) "
    "WITH ORDINALITY AS rows(user_id, item, value, time, key, at) "
    "ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING RETURNING position) "
    "SELECT base, position FROM taken, put";
constexpr std::string_view kEventRows =
    "SELECT position, user_id, item, value, time, key FROM likewise_events ";

/// A column as PostgreSQL writes an array: {"a",NULL}.
class ArrayText {
 public:
  void add(std::string_view text) {
    begin();
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }
  void add_null() {
    begin();
    text_ += "NULL";
  }
  template <class Number>
  void add_number(Number number) {
    begin();
    fmt::format_to(std::back_inserter(text_), "{}", number);
  }
  [[nodiscard]] std::string finish() { return std::move(text_) + "}"; }

 private:
  void begin() { text_ += text_.size() == 1 ? "" : ","; }
  std::string text_ = "{";
};

[[nodiscard]] std::vector<std::string> columns_of(const std::vector<Event>& events) {
  ArrayText users;
  ArrayText items;
  ArrayText values;
  ArrayText times;
  ArrayText keys;
  for (const Event& event : events) {
    users.add(event.user);
    items.add(event.item);
    event.value ? values.add_number(*event.value) : values.add_null();
    times.add_number(event.time);
    event.key.empty() ? keys.add_null() : keys.add(event.key);
  }
  return {std::to_string(events.size()),
          std::to_string(now()),
          users.finish(),
          items.finish(),
          values.finish(),
          times.finish(),
          keys.finish()};
}

[[nodiscard]] std::vector<StoredEvent> events_of(const PostgresResult& rows) {
  std::vector<StoredEvent> events;
  for (int r = 0; r < rows.rows(); ++r) {
    const std::optional<double> value = rows.number(r, 3);
    events.push_back({rows.integer(r, 0),
                      {rows.text(r, 1), rows.text(r, 2),
                       value ? std::optional(static_cast<float>(*value)) : std::nullopt,
                       rows.integer(r, 4), rows.text(r, 5)}});
  }
  return events;
}

void connect(std::optional<PostgresConnection>& connection, const std::string& url) {
  if (connection) return;
  connection.emplace(url);
  for (const char* statement : kPrepare) connection->run(statement);
}

}  // namespace

PostgresStore::PostgresStore(std::string url) : url_(std::move(url)) {
  check_postgres_url(url_);
  commits_ = std::make_unique<GroupCommit>(
      [this](const std::vector<Event>& events) { return commit(events); });
}

/// After an error the connection is closed: whatever was under way is rolled back.
template <class Work>
auto PostgresStore::with(Shared& shared, const Work& work) {
  const std::lock_guard lock(shared.mutex);
  if (shared.error && std::chrono::steady_clock::now() < shared.retry) throw *shared.error;
  shared.error.reset();
  try {
    connect(shared.connection, url_);
    return work(*shared.connection);
  } catch (const StoreError& error) {
    shared.connection.reset();
    shared.error = error;
    shared.retry = std::chrono::steady_clock::now() + kBetweenTries;
    throw;
  }
}

std::string PostgresStore::id() {
  return with(reader_, [](PostgresConnection& connection) {
    return connection.run("SELECT id FROM likewise_store").text(0, 0);
  });
}

void PostgresStore::submit(std::vector<Event> events, WhenAppended done) {
  commits_->submit(std::move(events), std::move(done));
}

std::vector<Position> PostgresStore::commit(const std::vector<Event>& events) {
  std::vector<Position> positions(events.size());
  const PostgresResult put = with(writer_, [&](PostgresConnection& connection) {
    return connection.run(kInsertEvents, columns_of(events));
  });
  for (int r = 0; r < put.rows(); ++r) {
    const Position position = put.integer(r, 1);
    positions[static_cast<std::size_t>(position - put.integer(r, 0) - 1)] = position;
  }
  return positions;
}

Position PostgresStore::newest() {
  return commits_->between_groups([this] {
    return with(reader_, [](PostgresConnection& connection) {
      return connection.run("SELECT newest FROM likewise_store").integer(0, 0);
    });
  });
}

std::vector<StoredEvent> PostgresStore::read(Position after, Position upto, Offset most) {
  return with(reader_, [&](PostgresConnection& connection) {
    return events_of(
        connection.run(std::string(kEventRows) +
                           "WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3",
                       {std::to_string(after), std::to_string(upto), std::to_string(most)}));
  });
}

std::vector<StoredEvent> PostgresStore::read_user(const std::string& user, Position after) {
  return with(reader_, [&](PostgresConnection& connection) {
    return events_of(connection.run(
        std::string(kEventRows) + "WHERE user_id = $1 AND position > $2 ORDER BY position",
        {user, std::to_string(after)}));
  });
}

Offset PostgresStore::count() {
  return with(reader_, [](PostgresConnection& connection) {
    return connection.run("SELECT count(*) FROM likewise_events").integer(0, 0);
  });
}

EventStore::Erased PostgresStore::erase(const std::string& user, Microseconds at) {
  return with(writer_, [&](PostgresConnection& connection) {
    connection.run("BEGIN");
    const Position position =
        connection.run("UPDATE likewise_store SET newest = newest + 1 RETURNING newest")
            .integer(0, 0);
    const Microseconds before =
        connection
            .run("SELECT coalesce(max(time), 0) FROM likewise_erasures WHERE user_id = $1", {user})
            .integer(0, 0);
    Erased erased{0, {position, user, std::max(at, before)}};
    erased.events =
        connection.run("DELETE FROM likewise_events WHERE user_id = $1", {user}).affected();
    connection.run("DELETE FROM likewise_erasures WHERE user_id = $1", {user});
    connection.run("INSERT INTO likewise_erasures VALUES($1, $2, $3)",
                   {std::to_string(position), user, std::to_string(erased.erasure.time)});
    connection.run("COMMIT");
    return erased;
  });
}

std::vector<Erasure> PostgresStore::erasures(Position after) {
  const PostgresResult rows = with(reader_, [&](PostgresConnection& connection) {
    return connection.run(
        "SELECT position, user_id, time FROM likewise_erasures WHERE position > $1 "
        "ORDER BY position",
        {std::to_string(after)});
  });
  std::vector<Erasure> found;
  for (int r = 0; r < rows.rows(); ++r) {
    found.push_back({rows.integer(r, 0), rows.text(r, 1), rows.integer(r, 2)});
  }
  return found;
}

Offset PostgresStore::compact(Position upto, Microseconds before, Microseconds trained) {
  return with(writer_, [&](PostgresConnection& connection) {
    return Offset{connection
                      .run("DELETE FROM likewise_events WHERE position <= $1 AND received < $2 "
                           "AND user_id NOT IN "
                           "(SELECT user_id FROM likewise_erasures WHERE time >= $3)",
                           {std::to_string(upto), std::to_string(before), std::to_string(trained)})
                      .affected()};
  });
}

}  // namespace likewise::server
