// SPDX-License-Identifier: Apache-2.0
/// Which calls ranks have made on their GPUs. A GPU that waits for another one
/// says neither whom it waits for nor why; this does.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "likewise/types.h"

namespace likewise::cuda {

enum class GpuCall : std::int32_t { kGather, kShareRows, kShift, kReduce, kReduceScatter };

/// What a rank calls. Without gaps, so that ranks can send it.
struct RankCall {
  GpuCall what = GpuCall::kGather;  ///< the same on all ranks
  std::int32_t distance = 0;        ///< of a shift, else 0: the same on all ranks
  Offset size = 0;                  ///< bytes that all ranks have together, of a shift 0
  Offset sent = 0;                  ///< of a shift, bytes
  Offset received = 0;              ///< of a shift, bytes
};

/// Thread-safe.
class CallLedger {
 public:
  explicit CallLedger(int ranks) : made_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int size() const { return static_cast<int>(made_.size()); }

  /// The next call of `rank`. Throws Error(kDevice) where another rank made another one instead.
  void begin(int rank, const RankCall& call);
  /// All calls of `rank` are through on its GPU.
  void finish(int rank);
  /// Its calls since then.
  [[nodiscard]] std::vector<RankCall> unfinished(int rank) const;
  /// Whether finish() came behind its last call.
  [[nodiscard]] bool is_through(int rank) const;
  /// Whom `rank`, which waits, waits for: "rank 2 of 3 did not come to all_gather".
  [[nodiscard]] std::string missing(int rank) const;

 private:
  /// More than ranks make between two calls of wait().
  static constexpr Offset kKept = 256;

  struct Rank {
    Offset begun = 0;
    Offset finished = 0;
    std::array<RankCall, kKept> calls;
  };

  [[nodiscard]] const RankCall& call(std::size_t rank, Offset number) const {
    return made_[rank].calls[static_cast<std::size_t>(number % kKept)];
  }
  void require_same(std::size_t one, std::size_t other, Offset number) const;

  mutable std::mutex mutex_;
  std::vector<Rank> made_;
};

}  // namespace likewise::cuda
