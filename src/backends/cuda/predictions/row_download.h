// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <tbb/task_arena.h>

#include "backends/cuda/device/staging.h"
#include "core/system/parallel.h"

namespace likewise::cuda {

/// Rows of ratings to ordinary host memory, a piece on the bus while the next ones are computed.
class RowDownload {
 public:
  RowDownload() : staging_(kPieceNumbers * Offset{sizeof(float)}) {}

  /// make(first, n) puts the work that makes rows [first, first + n) of `from` into `stream`.
  /// Returns when all rows are in `out`.
  template <class Make>
  void rows(const float* from, Index count, Offset columns, const Stream& stream, const Make& make,
            float* out) {
    if (count == 0 || columns == 0) return;
    const auto piece = static_cast<Index>(std::clamp<Offset>(kPieceNumbers / columns, 1, count));
    std::vector<Event> made(static_cast<std::size_t>((count - 1) / piece + 1));
    for (std::size_t p = 0; p < made.size(); ++p) {
      const Index first = static_cast<Index>(p) * piece;
      make(first, std::min(piece, count - first));
      made[p].record(stream);
    }
    const auto hold = [&](Offset end) {
      made[static_cast<std::size_t>((end - 1) / columns / piece)].hold(copies_);
    };
    const auto drain = [&](const float* numbers, Offset first, Offset n) {
      constexpr Offset kBlock = Offset{1} << 16;
      parallel_blocks(n, kBlock, [&](Offset begin, Offset end, Offset) {
        std::copy(numbers + begin, numbers + end, out + first + begin);
      });
    };
    // While it waits, this thread must not pick up a task that wants the caller's lock.
    tbb::this_task_arena::isolate(
        [&] { staging_.download(from, count * columns, 1, hold, drain, copies_); });
  }

  [[nodiscard]] Staging& staging() { return staging_; }

 private:
  static constexpr Offset kPieceNumbers = Offset{1} << 20;

  Staging staging_;
  Stream copies_;
};

}  // namespace likewise::cuda
