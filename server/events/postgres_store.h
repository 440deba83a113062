// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/events/event_store.h"
#include "server/events/group_commit.h"
#include "server/events/postgres.h"

namespace likewise::server {

/// Events in three tables of a PostgreSQL database (likewise_store, likewise_events,
/// likewise_erasures), which are made where they are missing. Several servers may share them.
///
/// Positions come from one row, which a transaction holds until its end: transactions commit in the
/// order of their positions, so that whoever reads up to a position has missed none.
class PostgresStore final : public EventStore {
 public:
  /// Connects when something is asked for, and again after an error.
  explicit PostgresStore(std::string url);

  [[nodiscard]] std::string id() override;
  void submit(std::vector<Event> events, WhenAppended done) override;
  [[nodiscard]] Position newest() override;
  [[nodiscard]] std::vector<StoredEvent> read(Position after, Position upto, Offset most) override;
  [[nodiscard]] std::vector<StoredEvent> read_user(const std::string& user,
                                                   Position after) override;
  [[nodiscard]] Offset count() override;
  Erased erase(const std::string& user, Microseconds at) override;
  [[nodiscard]] std::vector<Erasure> erasures(Position after) override;
  Offset compact(Position upto, Microseconds before, Microseconds trained) override;

 private:
  /// One caller at a time. After an error the next second's callers get the same one, so that
  /// nobody waits for a database that is away.
  struct Shared {
    std::mutex mutex;
    std::optional<PostgresConnection> connection;
    std::optional<StoreError> error;
    std::chrono::steady_clock::time_point retry;
  };

  template <class Work>
  auto with(Shared& shared, const Work& work);
  [[nodiscard]] std::vector<Position> commit(const std::vector<Event>& events);

  std::string url_;
  Shared writer_;
  Shared reader_;
  std::unique_ptr<GroupCommit> commits_;  ///< the last: it ends before what it uses
};

}  // namespace likewise::server
