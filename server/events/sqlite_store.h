// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/events/event_store.h"
#include "server/events/group_commit.h"
#include "server/events/sqlite.h"
#include "server/file_stamp.h"

namespace likewise::server {

/// Events in a SQLite file, in WAL mode with synchronous=FULL: a commit is on the disk when it
/// returns. Other programs may read the file, and other servers may share it on one machine. Where
/// it is moved, removed or replaced meanwhile, the store is away until it is back: what is written
/// into a file without a name is lost.
class SqliteStore final : public EventStore {
 public:
  explicit SqliteStore(std::string path);
  ~SqliteStore() override;

  [[nodiscard]] std::string id() override { return id_; }
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
  struct Writer {
    explicit Writer(const std::string& path);
    SqliteConnection connection;
    SqliteStatement insert;
  };
  /// A connection that is opened when it is needed, and again after an error. One caller at a time.
  template <class Kept>
  struct Shared {
    std::mutex mutex;
    std::optional<Kept> kept;
  };

  template <class Kept, class Work>
  auto with(Shared<Kept>& shared, const Work& work);
  /// Throws StoreError where the path is not the file's any more.
  void require_in_place() const;
  [[nodiscard]] std::vector<Position> commit(const std::vector<Event>& events);

  std::string path_;
  std::string id_;
  std::optional<FileStamp> file_;  ///< that was opened first
  Shared<Writer> writer_;
  Shared<SqliteConnection> reader_;
  std::unique_ptr<GroupCommit> commits_;  ///< the last: it ends before what it uses
};

}  // namespace likewise::server
