// SPDX-License-Identifier: Apache-2.0
/// Ratings from neighbours on the GPU; bit-identical to those of the CPU: sums run from the most to
/// the least similar row, ties to the smaller one.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "algorithms/knn/rating_formula.h"

namespace likewise::cuda {

/// What a model knows. Places are columns by falling number of raters (PlacedRows), cut into strips
/// of kStripColumns.
struct RatingTables {
  RatingNumbers formula;
  Index rows = 0;
  Index columns = 0;
  const RowLevel* levels = nullptr;            ///< by row
  const ColumnLevel* column_levels = nullptr;  ///< by column

  // The deviations by row, and where cell c of row r begins: starts[r (cells + 1) + c].
  Index strips = 0;
  Index strips_of_cell = 1;
  Index cells = 0;
  const Offset* starts = nullptr;
  const Index* places = nullptr;
  const float* deviations = nullptr;
  const Index* column_of = nullptr;  ///< of a place

  // And by column.
  const Offset* offsets = nullptr;
  const Index* raters = nullptr;
  const float* rater_deviations = nullptr;
};

/// Some rows that are predicted.
struct RatingRows {
  const Index* rows = nullptr;  ///< their numbers
  Index count = 0;
  const float* similarities = nullptr;  ///< count x all rows
  /// Whom each may ask, best first, and zeros to the next multiple of 32: count x pitch, a power of
  /// two above the number of all rows.
  std::uint64_t* near = nullptr;
  Offset pitch = 0;
};

/// Similarities of rows to those that they keep, 0 to all others.
void scatter_kept(const Offset* offsets, const Index* near, const float* similarities,
                  const Index* rows, Index count, Index all, float* out, cudaStream_t stream);

/// Fills in `near`.
void sort_near(const RatingTables& tables, const RatingRows& rows, cudaStream_t stream);

/// Every rating of rows [first, first + count) of `rows`: out is rows.count x columns.
void walk_rows(const RatingTables& tables, const RatingRows& rows, Index first, Index count,
               float* out, cudaStream_t stream);

/// Pairs of a row of a RatingRows (by its place there) and a column.
struct RatingPairs {
  const Index* rows = nullptr;
  const Index* columns = nullptr;
  Index count = 0;
  int keys = 0;                    ///< a power of two: room for a pair's
  std::uint64_t* spare = nullptr;  ///< keys of each block, where shared memory has no room
  int blocks = 0;                  ///< with spare keys
};
void rate_pairs(const RatingTables& tables, const RatingRows& rows, const RatingPairs& pairs,
                float* out, cudaStream_t stream);

}  // namespace likewise::cuda
