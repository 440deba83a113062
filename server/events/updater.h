// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/events/fold_events.h"

namespace likewise::server {

/// What the updates of one file came to.
struct UpdateFigures {
  Offset updates = 0;
  Offset failures = 0;
  Offset events = 0;       ///< learned, in all
  Offset set_aside = 0;    ///< that the model cannot learn, in all
  double seconds = 0.0;    ///< the last update took
  std::string last_error;  ///< empty where the last one did well
};

/// Folds events into model files, one file after the other, again and again, on a thread of its own
/// with the lowest priority: on one processor, so that answers have the others.
class Updater {
 public:
  struct Plan {
    std::vector<std::string> files;
    std::chrono::milliseconds every;
    FoldRules rules{};
    /// Delete events that all files have learned, a day after they came: keys are known so long.
    bool compact = false;
  };
  /// Called on the updater's thread: the file is new, and to be taken into use. What it throws is a
  /// failure of the update.
  using Updated = std::function<void(std::size_t file, const FoldReport& report)>;
  /// The file and what is in use are as before.
  using Failed = std::function<void(std::size_t file, const std::string& reason)>;

  /// `store` outlives it.
  Updater(EventStore& store, Plan plan, Updated updated, Failed failed);
  /// Gives up an update under way.
  ~Updater();
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  [[nodiscard]] UpdateFigures figures(std::size_t file) const;

 private:
  void run();
  void update(std::size_t file);
  void compact();

  EventStore& store_;
  Plan plan_;
  Updated updated_;
  Failed failed_;
  std::vector<FoldReport> last_;  ///< of each file; before the first: position 0
  std::atomic<bool> cancel_{false};
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  std::vector<UpdateFigures> figures_;
  std::thread thread_;
};

}  // namespace likewise::server
