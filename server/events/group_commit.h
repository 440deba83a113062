// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "server/events/event_store.h"

namespace likewise::server {

/// A thread that commits what callers have queued, all that waits in one transaction: a disk syncs
/// a few hundred times a second, whatever is in each.
class GroupCommit {
 public:
  /// Returns the position of each event, 0 where its key was there already. It throws where
  /// nothing was committed, or where that is not known.
  using Commit = std::function<std::vector<Position>(const std::vector<Event>&)>;

  explicit GroupCommit(Commit commit);
  /// Commits what waits.
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  void submit(std::vector<Event> events, WhenAppended done);

 private:
  struct Batch {
    std::vector<Event> events;
    WhenAppended done;
  };

  void run();
  [[nodiscard]] std::vector<Batch> next_group();
  void commit_group(std::vector<Batch> group);

  Commit commit_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Batch> queue_;
  std::size_t waiting_ = 0;  ///< events
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace likewise::server
