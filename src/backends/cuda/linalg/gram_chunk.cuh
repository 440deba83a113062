// SPDX-License-Identifier: Apache-2.0
/// How a block of gram_sum.cuh is cut, and how rows of the table get into its shared memory: as
/// halves (device/split_float.cuh), in the order in which tensor cores take them.
#pragma once

#include "backends/cuda/device/split_float.cuh"
#include "likewise/types.h"

namespace likewise::cuda::gram {

constexpr int kGroup = 16;  // columns of a group, and rows of one product
constexpr int kDepth = 2;   // products along a slab
constexpr int kSlab = kDepth * kGroup;
constexpr int kMatrix = 32;               // words of 8 x 8 halves
constexpr int kGroupWords = 8 * kMatrix;  // of one group of one product
constexpr int kPieceWords = kDepth * kGroupWords;

/// How a block is cut for a tile of kSide x kSide groups. On the diagonal only the lower half is
/// computed, and one set of columns is both operands. kOnly: there is no other tile.
template <int kSideGroups, bool kOnDiagonal, bool kOnlyTile>
struct Cut {
  static constexpr int kSide = kSideGroups;
  static constexpr bool kDiagonal = kOnDiagonal;
  static constexpr bool kOnly = kOnlyTile;
  /// A warp's unit of the tile: two groups of rows by so many groups of columns.
  static constexpr int kAcross = kDiagonal ? 1 : 2;
  static constexpr int kUnitsAlong = (kSide + 1) / 2;
  static constexpr int kUnits = kUnitsAlong * (kDiagonal ? kUnitsAlong + 1 : kUnitsAlong);
  /// Small tiles: several warps have the same unit and divide the slabs among themselves.
  static constexpr int kShares = kUnits >= 9 ? 1 : (kUnits == 6 ? 3 : 8);
  static constexpr int kWarps = kUnits * kShares;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kBlocks = kUnits == 12 ? 2 : 1;  // of a multiprocessor
  static constexpr int kGroups = kDiagonal ? kSide : 2 * kSide;
  /// Pieces of one slab and one group that a warp reads and splits of a chunk.
  static constexpr int kPieces = kWarps == 9 ? 2 : 1;
  static constexpr int kSlabs = kPieces * kWarps / kGroups / kShares * kShares;
  static constexpr int kAllPieces = kSlabs * kGroups;
  static_assert(kAllPieces % kPieces == 0, "the pieces of a warp are all there or all not");
  static constexpr int kRows = kSlabs * kSlab;
  static constexpr int kWords = kAllPieces * kPieceWords;
  static constexpr int kShared = 2 * kWords * static_cast<int>(sizeof(std::uint32_t));

  /// Columns of the table, known to the compiler where the tile is all there is.
  static __device__ __forceinline__ int padded(int given) { return kOnly ? kSide * kGroup : given; }
};

struct Problem {
  const float* y;
  const float* weights;  // or null
  Index rows;
  int padded;
  Index rows_per_split;
  int first_split;
  float* partial;  // a padded x padded matrix for every split of this round
};

/// First row and column of a unit, in groups. On the diagonal the units whose upper piece lies
/// above it come last.
template <class Shape>
__device__ __forceinline__ int2 unit_of(int unit) {
  if constexpr (!Shape::kDiagonal) {
    return {2 * (unit / Shape::kUnitsAlong), 2 * (unit % Shape::kUnitsAlong)};
  } else {
    constexpr int kWhole = Shape::kUnitsAlong * Shape::kUnitsAlong;
    if (unit >= kWhole) return {2 * (unit - kWhole), 2 * (unit - kWhole) + 1};
    int row = 0;
    while ((row + 1) * (row + 1) <= unit) ++row;
    return {2 * row, unit - row * row};
  }
}

/// Row and column of the block's tile: (i, i), or the pairs i > j.
template <class Shape>
__device__ __forceinline__ int2 tile_of(int number) {
  if constexpr (Shape::kDiagonal) return {number, number};
  int2 tile = {1, number};
  while (tile.y >= tile.x) tile.y -= tile.x++;
  return tile;
}

/// A chunk in shared memory: split pieces, each with its own scale. For each group of each product
/// lie eight matrices of 8 columns x 8 rows, as ldmatrix wants them: the high halves, then the low
/// ones; of each the even columns, then the odd ones; of each rows 4t, 4t + 1, then 4t + 2, 4t + 3.
template <class Shape>
struct Chunk {
  std::uint32_t* words;
  float* unscale;
};

/// The pieces of a chunk that a warp reads and splits: lane (g, t) holds columns 2g, 2g + 1 of rows
/// 4t .. 4t + 3 of both halves of each.
template <class Shape>
struct Pieces {
  float2 x[Shape::kPieces][kDepth][4];

  /// Where a lane's numbers of a piece start, counted from the chunk's first row; -1 outside the
  /// table.
  struct Offsets {
    int at[Shape::kPieces];

    __device__ __forceinline__ Offsets(int2 tile, int padded, int warp, int lane) {
#pragma unroll
      for (int p = 0; p < Shape::kPieces; ++p) {
        const int piece = warp * Shape::kPieces + p;
        const int group = piece % Shape::kGroups;
        const int column = group < Shape::kSide ? tile.x * Shape::kSide + group
                                                : (tile.y - 1) * Shape::kSide + group;
        const int row = piece / Shape::kGroups * kSlab + lane % 4 * 4;
        at[p] = Shape::kOnly || column * kGroup < padded
                    ? row * padded + column * kGroup + lane / 4 * 2
                    : -1;
      }
    }
  };

  /// The chunk whose first row is at `from`, of which `left` are there; zeros beyond.
  __device__ __forceinline__ void load(const float* __restrict__ from, const Offsets& offsets,
                                       int left, int padded, int warp, int lane) {
    if (left >= Shape::kRows) {
#pragma unroll
      for (int p = 0; p < Shape::kPieces; ++p) {
        const bool inside = Shape::kOnly || offsets.at[p] >= 0;
        load_piece(x[p], from + offsets.at[p], padded, [&](int) { return inside; });
      }
      return;
    }
#pragma unroll
    for (int p = 0; p < Shape::kPieces; ++p) {
      const int slab = (warp * Shape::kPieces + p) / Shape::kGroups;
      const int rows = offsets.at[p] >= 0 ? left - slab * kSlab - lane % 4 * 4 : 0;
      load_piece(x[p], from + offsets.at[p], padded, [&](int row) { return row < rows; });
    }
  }

  template <class IsThere>
  static __device__ __forceinline__ void load_piece(float2 (&to)[kDepth][4], const float* from,
                                                    int padded, IsThere is_there) {
#pragma unroll
    for (int k = 0; k < kDepth * 4; ++k) {
      const int row = k / 4 * kGroup + k % 4;
      to[k / 4][k % 4] = is_there(row) ? __ldg(reinterpret_cast<const float2*>(from + row * padded))
                                       : float2{0.0F, 0.0F};
    }
  }

  /// Splits the rows times the roots of their weights into the chunk.
  template <bool kWeighted>
  __device__ __forceinline__ void split(const Chunk<Shape>& chunk, const float* roots, int warp,
                                        int lane) {
#pragma unroll
    for (int p = 0; p < Shape::kPieces; ++p) {
      const int piece = warp * Shape::kPieces + p;
      if (kWeighted) weigh(x[p], roots + piece / Shape::kGroups * kSlab, lane);
      unsigned bits = 0;
#pragma unroll
      for (int k = 0; k < kDepth * 4; ++k) {
        const float2& pair = x[p][k / 4][k % 4];
        bits = max(bits, max(magnitude_bits(pair.x), magnitude_bits(pair.y)));
      }
      const float scale = split_scale(__reduce_max_sync(0xFFFFFFFFU, bits));
      if (lane == 0) chunk.unscale[piece] = inverse_scale(scale);
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const auto& y = x[p][d];
        const SplitPair pairs[4] = {
            split_pair(y[0].x, y[1].x, scale), split_pair(y[2].x, y[3].x, scale),
            split_pair(y[0].y, y[1].y, scale), split_pair(y[2].y, y[3].y, scale)};
        std::uint32_t* to = chunk.words + piece * kPieceWords + d * kGroupWords + lane;
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          to[m * kMatrix] = pairs[m].high;
          to[(4 + m) * kMatrix] = pairs[m].low;
        }
      }
    }
  }

  static __device__ __forceinline__ void weigh(float2 (&rows)[kDepth][4], const float* roots,
                                               int lane) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 w = *reinterpret_cast<const float4*>(roots + d * kGroup + lane % 4 * 4);
      const float by[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int r = 0; r < 4; ++r) rows[d][r] = {rows[d][r].x * by[r], rows[d][r].y * by[r]};
    }
  }
};

/// Roots of the weights of a chunk, spread over the threads while they are in flight.
template <class Shape>
struct Roots {
  static constexpr int kEach = (Shape::kRows + Shape::kThreads - 1) / Shape::kThreads;
  float x[kEach];

  __device__ __forceinline__ void load(const float* weights, Index first, Index end) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = static_cast<int>(threadIdx.x) + i * Shape::kThreads;
      x[i] = row < Shape::kRows && row < end - first ? weights[first + row] : 0.0F;
    }
  }
  __device__ __forceinline__ void store(float* to) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = static_cast<int>(threadIdx.x) + i * Shape::kThreads;
      if (row < Shape::kRows) to[row] = sqrtf(x[i]);
    }
  }
};

}  // namespace likewise::cuda::gram
