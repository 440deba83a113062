// SPDX-License-Identifier: Apache-2.0
/// What predictions keep on a GPU, decided from counts before anything is allocated.
#pragma once

#include "likewise/memory.h"
#include "likewise/types.h"

namespace likewise {

/// Columns of a strip: the sums of its ratings are one warp's, in shared memory.
inline constexpr Index kStripColumns = 512;
/// Pairs that are on the GPU at a time.
inline constexpr Offset kPairsAtATime = Offset{1} << 20;
/// Threads that rate a pair, and the most keys that they keep in shared memory.
inline constexpr int kPairThreads = 128;
inline constexpr int kSharedPairKeys = 4096;

struct GpuFactorShape {
  Index users = 0;
  Index items = 0;
  Index factors = 0;
};

struct GpuFactorPlan {
  Index pitch = 0;  ///< numbers from one row of factors to the next
  Index rows = 0;   ///< users that are scored at a time
  MemoryPlan memory;
};

/// Throws Error(kOutOfMemory) with the figures where not even one user fits into `available` bytes.
[[nodiscard]] GpuFactorPlan plan_gpu_factor_predictions(const GpuFactorShape& shape,
                                                        Offset available);

struct GpuRatingShape {
  Index rows = 0;  ///< that are compared
  Index columns = 0;
  Offset entries = 0;
  Offset longest = 0;     ///< entries of a column, at most
  Offset most_asked = 0;  ///< rows that a prediction asks, at most
  Offset kept = 0;        ///< neighbours that predictions are made from; 0: all rows
  Offset search = 0;      ///< bytes of what computes similarities
};

struct GpuRatingPlan {
  Index strips = 0;
  /// Strips that share a cell of the table where rows begin: 1 except for matrices that hold
  /// little.
  Index strips_of_cell = 1;
  Index cells = 0;
  Offset keys = 0;      ///< a power of two: room to sort the rows that one may ask
  int pair_keys = 0;    ///< a power of two: room to sort those that a pair asks
  int pair_blocks = 0;  ///< pairs that are rated at a time where their keys need memory; else 0
  Index rows = 0;       ///< that are predicted at a time
  MemoryPlan memory;
};

/// The same for predictions from neighbours.
[[nodiscard]] GpuRatingPlan plan_gpu_knn_predictions(const GpuRatingShape& shape, Offset available);

}  // namespace likewise
