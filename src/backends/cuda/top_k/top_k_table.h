// SPDX-License-Identifier: Apache-2.0
/// Items and queries of top-k on the GPU: as float32 for exact scores, and as float16 for estimates
/// on the tensor cores.
///
/// Estimates are in units of their query, S = 2^(a + c): items are multiplied by 2^a and a query by
/// 2^c before they are rounded, so that the largest number of either is between 2^7 and 2^8.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/device/memory.h"
#include "backends/cuda/device/staging.h"
#include "backends/jobs/top_k.h"

namespace likewise::cuda {

inline constexpr int kTopKTile = 128;  ///< queries and items of a product
inline constexpr int kTopKDepth = 64;  ///< what rows are padded to

[[nodiscard]] constexpr Index padded_to(Index count, int step) {
  return (count + step - 1) / step * step;
}

/// Of a tile and all behind it: the longest rounded row, times 2^a, and the largest bias. No
/// estimate passes  |q| norm + S bias.
struct RestBound {
  float norm = 0.0F;
  float bias = 0.0F;
};

struct TopKItems {
  Index count = 0;
  Index padded = 0;       ///< to kTopKTile
  Index pitch = 0;        ///< columns, padded to kTopKDepth
  int exponent = 0;       ///< a
  float norm = 0.0F;      ///< the largest |row|, times 2^a, rounded up
  float abs_bias = 0.0F;  ///< the largest |bias|
  /// Estimates of distances are  q . y - |y|^2 / 2  of rows less the centre.
  bool distances = false;
  DeviceArray<Index> item;       ///< of a place
  DeviceArray<float> rows;       ///< count x pitch
  DeviceArray<float> centre;     ///< pitch numbers; zeros for products
  DeviceArray<float> bias;       ///< of exact scores; may be empty
  DeviceArray<__half> halves;    ///< padded x pitch
  DeviceArray<float> estimated;  ///< biases of estimates, padded; may be empty
  DeviceArray<RestBound> rest;   ///< by tile
  DeviceArray<Index> place;      ///< of an item of the whole table; -1: not here

  [[nodiscard]] Offset words() const { return padded / 64; }  ///< of a bit for each place

  /// Items `order` of a table, in this order. `centre` has a number per column for distances.
  TopKItems(const MatrixView& items, std::span<const float> item_bias, ScoreKind score,
            std::span<const float> centre, std::span<const Index> order, Staging& staging,
            cudaStream_t stream);
};

/// What estimates of a query need to know.
struct QueryNumbers {
  float norm = 0.0F;   ///< |q| 2^c after rounding, rounded up
  float scale = 0.0F;  ///< S
  /// An estimate of a tile may be  slope RestBound::norm + error  from S times the score
  /// (math.md, "Lists on a GPU").
  float slope = 0.0F;
  float error = 0.0F;
};

struct TopKQueries {
  Index most = 0;  ///< a multiple of kTopKTile
  Index count = 0;
  DeviceArray<float> rows;     ///< most x pitch
  DeviceArray<__half> halves;  ///< the same; zeros behind the last query
  DeviceArray<QueryNumbers> numbers;

  TopKQueries(Index most_queries, Index pitch);
  /// The rows as they are.
  void load(const MatrixView& queries, Staging& staging, cudaStream_t stream);
  /// What estimates need, from what was loaded. *wrong is set to 1 where a number is out of range.
  void round(const TopKItems& items, int* wrong, cudaStream_t stream);

 private:
  Index pitch_;
};

/// Bits for `CandidateSearch::denied`: of all queries alike, what `allowed` (by item; null: all)
/// and the end of the table leave.
[[nodiscard]] DeviceArray<std::uint64_t> denied_places(const TopKItems& items,
                                                       const std::uint8_t* allowed,
                                                       cudaStream_t stream);

/// The same for each of `count` queries, with the items that are excluded for it: those from
/// offsets[query] - offsets[0] on. *wrong is set to 1 where they do not rise, or are no items.
/// `Number` is a type that holds all items.
template <class Number>
void deny_excluded(const TopKItems& items, const std::uint64_t* alike, const Offset* offsets,
                   const Number* excluded, Index count, std::uint64_t* denied, int* wrong,
                   cudaStream_t stream);

}  // namespace likewise::cuda
