// SPDX-License-Identifier: Apache-2.0
/// Where rows start whose table is on the GPU: moved on by a part of their last change
/// (jobs/als_changes.h). Those of tables that are streamed are moved as they come
/// (AlsFactorTables).
#pragma once

#include <cstdint>

#include "backends/cuda/als/als_fixed_side.h"
#include "backends/cuda/als/als_side.h"
#include "backends/cuda/device/staging.h"
#include "backends/jobs/als_changes.h"
#include "likewise/factors.h"

namespace likewise::cuda {

/// Rows of a side from `first` on, and their table.
struct TableRows {
  Side side;
  Index first;
  Index count;
  float* table;
};

class AlsStarts {
 public:
  /// Takes the changes from `host`, which it refers to. Takes no memory of the GPU where starts do
  /// not move or tables are streamed.
  AlsStarts(const AlsSetup& setup, Factors& host, Staging& staging, cudaStream_t stream);

  /// Bytes that it takes besides the changes, for sides of at most `most_rows`.
  [[nodiscard]] static Offset scratch_bytes(int padded, Index most_rows);

  /// A half-step in which changes count, or do not.
  void begin(bool counts) { counts_ = counts && chunk_.size() > 0; }
  /// inside = the starts of these rows in the basis of `fixed`.
  void enter(const TableRows& rows, const AlsFixedSide& fixed, float* inside, cudaStream_t stream);
  /// The table becomes the rows' solutions, which are `inside`. Rows without interactions, by the
  /// matrix's `offsets` of these, become 0.
  void leave(const TableRows& rows, const AlsFixedSide& fixed, const float* inside,
             const Offset* offsets, cudaStream_t stream);
  /// What leave() found over all `rows` of the side: 0 where changes do not count.
  void add_up(Index rows, double* partial, ChangeSums* sums, cudaStream_t stream);

  /// Brings the changes to the host.
  void fetch(cudaStream_t stream);

 private:
  /// Rows that have a copy at a time: at 256 and 512 factors whole rounds of the blocks that
  /// multiply them on the 132 multiprocessors of an H100.
  static constexpr Index kChunk = 38016;

  /// Calls work(rows, what is inside, their changes) chunk by chunk.
  template <class Inside, class Work>
  void by_chunks(const TableRows& rows, Inside* inside, const Work& work);

  const AlsSetup& setup_;
  Factors& host_;
  Staging& staging_;
  Index most_rows_;
  DeviceArray<std::uint16_t> changes_[2];
  DeviceArray<float> chunk_;
  DeviceArray<double> sums_;  ///< squares of all rows' changes, then of their last ones
  bool counts_ = false;
};

}  // namespace likewise::cuda
