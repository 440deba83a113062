// SPDX-License-Identifier: Apache-2.0
/// Ranks that are threads of this process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backends/distributed/communicator.h"
#include "likewise/control.h"

namespace likewise {

/// How long a rank waits for another one in a call before it takes it for lost. Ranks wait for the
/// slowest of them in every half-step, so it is much more than a half-step takes.
inline constexpr std::chrono::milliseconds kRankPatience = std::chrono::minutes(30);

/// What one rank does. `control` says when to stop: by the caller's wish, or because another rank
/// failed; long work checks it as ever.
using RankWork = std::function<void(Communicator& ranks, const RunControl& control)>;

/// The threads of ranks that work together again and again: the calling thread is rank 0, the
/// others each have one of their own for as long as this lives.
class RankThreads {
 public:
  /// Throws Error(kInvalidArgument) where there is not one rank at least.
  explicit RankThreads(int size);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  /// Runs `work` once for each rank, each with its share of the threads that parallel loops use
  /// here, and returns when all have ended. One call at a time.
  ///
  /// Throws the exception of the rank that failed first as it is: those of other ranks follow from
  /// it. Throws Error(kCancelled) where `control` asked to stop, and Error(kDevice) naming the
  /// ranks that did not come to a call within `patience`, that ended before it or that made another
  /// one. A rank that hangs is told by its `control`; a thread cannot be ended from outside, so one
  /// that never looks keeps the caller waiting, but no other rank.
  void run(std::chrono::milliseconds patience, const RunControl& control, const RankWork& work);

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

/// Once, by threads of its own.
void run_thread_ranks(int size, std::chrono::milliseconds patience, const RunControl& control,
                      const RankWork& work);

}  // namespace likewise
