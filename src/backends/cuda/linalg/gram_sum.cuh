// SPDX-License-Identifier: Apache-2.0
/// The kernel of gram_sum.cu: one tile of a Gram matrix, summed over a range of rows.
///
/// A block walks through its rows chunk by chunk: all warps read a chunk, split it and leave it in
/// shared memory (gram_chunk.cuh), where the same 16 bytes serve on the left and on the right; then
/// every warp multiplies its unit of 32 x 16, or 32 x 32 off the diagonal. One chunk is in flight
/// from memory while another is split and a third multiplied, and within a scheduler some warps
/// split while others multiply.
///
/// Tensor cores cut off what they cannot hold, so their sums live for one slab of 32 rows and are
/// added up by ordinary rounded additions.
#pragma once

#include "backends/cuda/device/half_matrices.cuh"
#include "backends/cuda/linalg/gram_chunk.cuh"

namespace likewise::cuda::gram {

/// One group of one product: as two right operands, columns n in words 2n, 2n + 1, or as left
/// operand.
struct Operand {
  std::uint32_t high[4];
  std::uint32_t low[4];

  /// `at`: the shared address of the group's first matrix, plus right_row or left_row of the lane.
  __device__ __forceinline__ void load(std::uint32_t at) {
    load_matrices(high, at);
    load_matrices(low, at + 4 * kMatrix * sizeof(std::uint32_t));
  }
  /// Every lane names one row of one of the four matrices.
  static __device__ __forceinline__ std::uint32_t right_row(int lane) { return lane * 16; }
  static __device__ __forceinline__ std::uint32_t left_row(int lane) {
    const int matrix = lane / 8;
    return (matrix % 2 * 2 + matrix / 2) * 128 + lane % 8 * 16;
  }
};

/// A warp's sums: pieces (i, j) of 16 x 16. Row 2g of a piece has columns 4t .. 4t + 3 in
/// [0][0], [1][0], [0][1], [1][1], row 2g + 1 in [0][2], [1][2], [0][3], [1][3].
template <class Shape>
struct Sums {
  static constexpr int kAcross = Shape::kAcross;
  static constexpr int kCount = 16 * kAcross;
  float at[2][kAcross][2][4] = {};

  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) {
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      visit(at[k / (8 * kAcross)][k / 8 % kAcross][k / 4 % 2][k % 4]);
  }

  /// Pieces (i, j) += a_i b_j^T for i >= kFirst: one product, its parts interleaved so that none
  /// waits for the one before.
  template <int kFirst>
  __device__ __forceinline__ void add_product(const Operand (&a)[2], const Operand (&b)[kAcross]) {
#pragma unroll
    for (int part = 0; part < 3; ++part) {
#pragma unroll
      for (int i = kFirst; i < 2; ++i) {
#pragma unroll
        for (int k = 0; k < 2 * kAcross; ++k) {
          const Operand& right = b[k / 2];
          const int n = k % 2;
          auto& c = at[i][k / 2][n];
          if (part == 0) mma_half(c, a[i].low, right.high[2 * n], right.high[2 * n + 1]);
          if (part == 1) mma_half(c, a[i].high, right.low[2 * n], right.low[2 * n + 1]);
          if (part == 2) mma_half(c, a[i].high, right.high[2 * n], right.high[2 * n + 1]);
        }
      }
    }
  }

  /// += the sums of one slab, times the scales of rows and columns.
  __device__ __forceinline__ void add(const Sums& slab, const float (&rows)[2],
                                      const float (&columns)[kAcross]) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const int i = k / (8 * kAcross);
      const int j = k / 8 % kAcross;
      float& x = at[i][j][k / 4 % 2][k % 4];
      x = fmaf(slab.at[i][j][k / 4 % 2][k % 4], rows[i] * columns[j], x);
    }
  }

  /// The chunk's slabs for the unit. Groups beyond an odd last one are replaced by it and the
  /// results not stored. kFirst: 1 where the upper piece lies above the diagonal.
  template <int kFirst>
  __device__ __forceinline__ void add_chunk(const Chunk<Shape>& chunk, int2 unit, int share,
                                            int lane) {
    const auto address = [&](int group, std::uint32_t row) {
      const std::uint32_t* words = chunk.words + (share * Shape::kGroups + group) * kPieceWords;
      return static_cast<std::uint32_t>(__cvta_generic_to_shared(words)) + row;
    };
    int rows[2];
    int columns[kAcross];
    std::uint32_t rows_at[2];
    std::uint32_t columns_at[kAcross];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rows[i] = min(unit.x + i, Shape::kSide - 1);
      rows_at[i] = address(rows[i], Operand::left_row(lane));
    }
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      columns[j] = (Shape::kDiagonal ? 0 : Shape::kSide) + min(unit.y + j, Shape::kSide - 1);
      columns_at[j] = address(columns[j], Operand::right_row(lane));
    }
#pragma unroll
    for (int slab = 0; slab < Shape::kSlabs; slab += Shape::kShares) {
      Sums sums;
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const std::uint32_t skip =
            (slab * Shape::kGroups * kPieceWords + d * kGroupWords) * sizeof(std::uint32_t);
        Operand a[2];
        Operand b[kAcross];
#pragma unroll
        for (int j = 0; j < kAcross; ++j) b[j].load(columns_at[j] + skip);
#pragma unroll
        for (int i = kFirst; i < 2; ++i) a[i].load(rows_at[i] + skip);
        sums.template add_product<kFirst>(a, b);
      }
      const float* unscale = chunk.unscale + (slab + share) * Shape::kGroups;
      float column_unscale[kAcross];
#pragma unroll
      for (int j = 0; j < kAcross; ++j) column_unscale[j] = unscale[columns[j]];
      add(sums, {unscale[rows[0]], unscale[rows[1]]}, column_unscale);
    }
  }

  /// Sums of the warps that share a unit, in the first of them.
  __device__ __forceinline__ void gather_shares(float* scratch, int unit, int share, int lane) {
    if constexpr (Shape::kShares > 1) {
      const auto place = [&](int s) {
        return scratch + (s * Shape::kUnits + unit) * kCount * 32 + lane;
      };
      if (share > 0) {
        float* to = place(share - 1);
        each([&](float x) { *to = x, to += 32; });
      }
      __syncthreads();
      for (int s = 0; share == 0 && s + 1 < Shape::kShares; ++s) {
        const float* from = place(s);
        each([&](float& x) { x += *from, from += 32; });
      }
    }
  }

  /// Groups first to end (rows, columns) of the matrix at `to`, on the diagonal its lower half
  /// only.
  __device__ __forceinline__ void store(float* to, int padded, int2 first, int2 end,
                                        int lane) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        if (first.x + i >= end.x || first.y + j >= end.y) continue;
        if (Shape::kDiagonal && first.x + i < first.y + j) continue;
        const auto& x = at[i][j];
        float* corner = to + (first.x + i) * kGroup * padded + (first.y + j) * kGroup;
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          *reinterpret_cast<float4*>(corner + (lane / 4 * 2 + odd) * padded + lane % 4 * 4) = {
              x[0][2 * odd], x[1][2 * odd], x[0][2 * odd + 1], x[1][2 * odd + 1]};
        }
      }
    }
  }
};

/// blockIdx.x: split of the rows; blockIdx.y: tile of the Gram matrix.
template <class Shape, bool kWeighted>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks) sum_tile(Problem problem) {
  extern __shared__ std::uint32_t words[];
  __shared__ float unscale[2][Shape::kAllPieces];
  __shared__ alignas(16) float roots[2][Shape::kRows];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int share = warp / Shape::kUnits;
  const int2 unit = unit_of<Shape>(warp % Shape::kUnits);
  const int2 tile = tile_of<Shape>(static_cast<int>(blockIdx.y));
  const int padded = Shape::padded(problem.padded);
  const auto begin = static_cast<Offset>(problem.first_split + static_cast<int>(blockIdx.x)) *
                     problem.rows_per_split;
  const auto count = static_cast<int>(
      min(static_cast<Offset>(problem.rows_per_split), static_cast<Offset>(problem.rows) - begin));
  const float* y = problem.y + begin * padded;
  const float* weights = kWeighted ? problem.weights + begin : nullptr;
  // Whole warps split or not.
  const bool splits = warp * Shape::kPieces < Shape::kAllPieces;
  const bool lower = Shape::kDiagonal && unit.y > unit.x;

  const typename Pieces<Shape>::Offsets offsets(tile, padded, warp, lane);
  Pieces<Shape> pieces;
  Roots<Shape> next_roots;
  const auto load = [&](int chunk) {
    const int first = chunk * Shape::kRows;
    pieces.load(y + static_cast<Offset>(min(first, count)) * padded, offsets, count - first, padded,
                warp, lane);
  };
  const auto load_roots = [&](int chunk) {
    next_roots.load(weights, min(chunk * Shape::kRows, count), count);
  };
  const auto split_to = [&](int parity) {
    pieces.template split<kWeighted>({words + parity * Shape::kWords, unscale[parity]},
                                     roots[parity], warp, lane);
  };

  const auto prepare = [&](int chunk) {
    if (!splits) return;
    split_to(1 - (chunk & 1));  // of chunk + 1
    load(chunk + 2);
  };

  // Before the loop: chunk 0 is split, 1 is in flight, and so are the roots of 2.
  if constexpr (kWeighted) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      load_roots(chunk);
      next_roots.store(roots[chunk]);
    }
    load_roots(2);
    __syncthreads();
  }
  if (splits) {
    load(0);
    split_to(0);
    load(1);
  }
  __syncthreads();

  Sums<Shape> sums;
  const int chunks = (count + Shape::kRows - 1) / Shape::kRows;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int parity = chunk & 1;
    const bool split_first = (warp / 4 & 1) != 0;
    if (split_first) prepare(chunk);
    const Chunk<Shape> whole{words + parity * Shape::kWords, unscale[parity]};
    if (lower) {
      sums.template add_chunk<1>(whole, unit, share, lane);
    } else {
      sums.template add_chunk<0>(whole, unit, share, lane);
    }
    if (!split_first) prepare(chunk);
    if constexpr (kWeighted) {
      next_roots.store(roots[parity]);  // of chunk + 2
      load_roots(chunk + 3);
    }
    __syncthreads();
  }

  sums.gather_shares(reinterpret_cast<float*>(words), warp % Shape::kUnits, share, lane);
  if (share > 0) return;
  const int groups = padded / kGroup;
  const int2 first = {tile.x * Shape::kSide + unit.x, tile.y * Shape::kSide + unit.y};
  const int2 end = {min((tile.x + 1) * Shape::kSide, groups),
                    min((tile.y + 1) * Shape::kSide, groups)};
  sums.store(problem.partial + static_cast<Offset>(blockIdx.x) * padded * padded, padded, first,
             end, lane);
}

}  // namespace likewise::cuda::gram
