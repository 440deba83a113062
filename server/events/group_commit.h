// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
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
  /// What `look` finds while no group is under way: of all that was committed, `done` was called.
  /// Not to be called by `done`.
  [[nodiscard]] Position between_groups(const std::function<Position()>& look);

 private:
  struct Batch {
    std::vector<Event> events;
    WhenAppended done;
  };

  /// Of a caller that waits. The error is let go of by the caller alone.
  struct Look {
    const std::function<Position()>& look;
    Position found = 0;
    std::exception_ptr error{};
    bool done = false;
  };

  void run();
  [[nodiscard]] bool wait_for_work();
  void take_looks();
  [[nodiscard]] std::vector<Batch> next_group();
  void commit_group(std::vector<Batch> group);

  Commit commit_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Batch> queue_;
  std::size_t waiting_ = 0;  ///< events
  std::vector<Look*> looks_;
  std::condition_variable looked_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace likewise::server
