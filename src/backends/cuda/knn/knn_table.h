// SPDX-License-Identifier: Apache-2.0
/// How the rows of a similarity problem lie on a GPU: their entries by tiles of sums.
///
/// Ranks number the rows by falling length. They are assigned to tiles in turn: rank r has slot
/// r / tiles of tile r % tiles, so that long rows are spread over all. A tile's sums are one warp's
/// in shared memory, 16 tiles a block's; more tiles than that are worked off in rounds.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise::cuda {

inline constexpr int kTileWarps = 16;
/// Candidates of a row that a block keeps in shared memory.
inline constexpr int kSharedKeys = 1024;

/// Pure arithmetic: how many tiles, and how large.
struct TilePlan {
  int sums = 1;          ///< numbers that a pair adds up: 1, 4 or 6
  int number_bytes = 4;  ///< of each: float32 or float64
  int rounds = 0;
  int tiles = 0;  ///< rounds * kTileWarps
  int slots = 0;  ///< rows of a tile
  int pitch = 0;  ///< numbers from one tile to the next, odd: neighbours lie in different banks

  [[nodiscard]] int shared_bytes() const {
    return kSharedKeys * 8 + kTileWarps * pitch * number_bytes;
  }
};

/// `shared`: bytes that a block may have. At least 1 row.
[[nodiscard]] TilePlan plan_tiles(Index rows, int sums, int number_bytes, int shared);

/// One entry of a column in a tile.
struct SlotEntry {
  Index slot;
  float weight;
};

/// Sparse rows on the GPU.
struct GpuRows {
  Index rows = 0;
  Index cols = 0;
  DeviceArray<Offset> offsets;
  DeviceArray<Index> columns;
  DeviceArray<float> weights;
};
[[nodiscard]] GpuRows upload(const CsrView& rows, cudaStream_t stream);

/// The entries by (round, column, tile): what one warp adds to its sums for one entry of a row.
/// Within such a segment the order is open, and nothing depends on it.
struct SegmentTable {
  TilePlan plan;
  /// Where segment (round * cols + column) * kTileWarps + warp begins, and the end of the last.
  DeviceArray<Offset> starts;
  DeviceArray<SlotEntry> entries;
};
[[nodiscard]] SegmentTable make_segments(const GpuRows& rows, const DeviceArray<Index>& rank_of,
                                         const TilePlan& plan, cudaStream_t stream);

/// Pairs of entries in one column, each met from both sides: the sum of squared column lengths.
[[nodiscard]] double common_entries(const GpuRows& rows, cudaStream_t stream);

/// The smallest u in 0..8 so that 2^u times every weight is whole; 9 where there is none.
[[nodiscard]] int binary_places(const DeviceArray<float>& weights, cudaStream_t stream);

}  // namespace likewise::cuda
