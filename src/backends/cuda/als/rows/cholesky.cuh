// SPDX-License-Identifier: Apache-2.0
/// Solves a row exactly, A = L L^T, by the block that summed its matrix into registers.
///
/// A lies in shared memory as the 16 x 16 tiles of its lower triangle. Panel by panel, one warp
/// inverts the factor of the diagonal tile, W = L_jj^-1, while the others update the tiles below
/// and the next diagonal tile (left-looking: L is read, not A written, over and over); L_ij = A_ij
/// W^T then is one more product. Only W is kept of a diagonal tile: the solves multiply with it
/// too. Products of tiles are exact to float32: three tensor-core products of tf32 parts.
#pragma once

#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/solve.cuh"
#include "backends/cuda/als/rows/sums.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

/// A 16 x 16 tile in shared memory. Rows 2, 3 of every four have their halves swapped: whole rows,
/// columns, and the operands and sums of products are then read without bank conflicts.
struct FactorTile {
  static constexpr int kFloats = 256;
  static constexpr float kLargestPivot = 0x1p126F;  ///< the reciprocals of others become 0
  static __device__ __forceinline__ int at(int row, int column) {
    return 16 * row + (column ^ ((row & 2) << 2));
  }

  /// A tile as left or right operand, cut into tf32 parts. A lane's four neighbours in a row stand
  /// for depths t, t + 4 of the first product, then of the second: both operands agree on that.
  struct Operand {
    std::uint32_t high[2][4];
    std::uint32_t low[2][4];
    __device__ __forceinline__ Operand(const float* tile, int lane) {
      const int first = at(lane >> 2, 4 * (lane & 3));
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float4 x = *reinterpret_cast<const float4*>(tile + first + 128 * h);
        cut(0, h, x.x);
        cut(0, h + 2, x.y);
        cut(1, h, x.z);
        cut(1, h + 2, x.w);
      }
    }
    __device__ __forceinline__ void cut(int q, int i, float x) {
      split_tf32(x, high[q][i], low[q][i]);
    }
  };

  /// Sums of products a b^T.
  struct Products {
    float high[2][4] = {};
    float low[2][4] = {};  // of high times low parts, and the other way around: no long chains
    float other[2][4] = {};
    __device__ __forceinline__ void add(const Operand& a, const Operand& b) {
#pragma unroll
      for (int q = 0; q < 2; ++q) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          mma_tf32(high[h], a.high[q], b.high[q][h], b.high[q][h + 2]);
          mma_tf32(low[h], a.high[q], b.low[q][h], b.low[q][h + 2]);
          mma_tf32(other[h], a.low[q], b.high[q][h], b.high[q][h + 2]);
        }
      }
    }
    /// Calls visit(pair, x, y) with the places of the lane's numbers in `tile` and the numbers.
    template <class Visit>
    __device__ __forceinline__ void for_pairs(float* tile, int lane, Visit visit) const {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          float* to = tile + at((lane >> 2) + 4 * i, 8 * h + 2 * (lane & 3));
          visit(*reinterpret_cast<float2*>(to), high[h][i] + (low[h][i] + other[h][i]),
                high[h][i + 1] + (low[h][i + 1] + other[h][i + 1]));
        }
      }
    }
  };

  /// Of lanes l and l + 16 together: (row l of the tile) * x.
  static __device__ __forceinline__ float row_product(const float* tile, const float* x, int lane) {
    const int column = 8 * (lane >> 4);
    float sum = 0.0F;
#pragma unroll
    for (int e = 0; e < 8; e += 4) {
      const auto a = *reinterpret_cast<const float4*>(tile + at(lane & 15, column + e));
      const auto b = *reinterpret_cast<const float4*>(x + column + e);
      sum = fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
    }
    return sum;
  }
  /// Of lanes l and l + 16 together: (column l of the tile) * x.
  static __device__ __forceinline__ float column_product(const float* tile, const float* x,
                                                         int lane) {
    float sum = 0.0F;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int row = 2 * e + (lane >> 4);
      sum = fmaf(tile[at(row, lane & 15)], x[row], sum);
    }
    return sum;
  }

  /// To about 2^-23; it stands in the way of everything else.
  static __device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
    return y;
  }

  /// The tile, of which the lower triangle counts, becomes W = L^-1 with L L^T = tile: elimination
  /// without square roots of (tile, I), where column c of I enters as column c of the tile leaves,
  /// in its place. Lanes l and l + 16 have eight columns each of row l. False where a pivot is not
  /// above `floor`.
  static __device__ __forceinline__ bool invert_factor(float* tile, int lane, float floor) {
    const int row = lane & 15;
    const int half = lane >> 4;
    float a[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int column = 8 * half + e;
      a[e] = tile[at(max(row, column), min(row, column))];
    }
    float own = 1.0F;  // this row's pivot
    bool positive = true;
#pragma unroll 1
    for (int n = 0; n < 2; ++n) {  // code that is run once is slow to fetch: eight columns of it
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int c = 8 * n + i;
        const float pivot = __shfl_sync(0xffffffffU, a[i], 16 * n | c);
        const float below = __shfl_sync(0xffffffffU, a[i], 16 * n | row);
        positive = positive && pivot > floor && pivot < kLargestPivot;
        if (row == c) own = pivot;
        const float factor = row > c ? -below * reciprocal(pivot) : 0.0F;
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const float above = __shfl_sync(0xffffffffU, a[e], (lane & 16) | c);
          const bool leaves = e == i && half == n && row > c;
          a[e] = leaves ? factor : fmaf(factor, above, a[e]);
        }
      }
    }
    const float scale = rsqrtf(own);
    __syncwarp();  // all lanes have read the tile
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int column = 8 * half + e;
      tile[at(row, column)] = column < row ? a[e] * scale : column == row ? scale : 0.0F;
    }
    return positive;
  }
};

/// Rows' matrices are about as large as their count (dense.h, Basis). Of a pivot that is smaller by
/// this, float32 sums leave too little.
inline constexpr float kSmallestPivot = 0x1p-13F;

[[nodiscard]] __device__ __forceinline__ float smallest_pivot(const RowProblem& problem,
                                                              Index row) {
  if (problem.hard.count == nullptr) return 0.0F;
  return kSmallestPivot *
         static_cast<float>(__ldg(problem.offsets + row + 1) - __ldg(problem.offsets + row));
}

/// The row is left to others, or has failed.
__device__ __forceinline__ void give_up(const RowProblem& problem, Index row) {
  if (problem.hard.count == nullptr) {
    atomicMin(problem.failed_row, row);
  } else {
    problem.hard.rows[atomicAdd(problem.hard.count, 1)] = row;
  }
}

template <class Format, int kStrips>
struct RowCholesky {
  using Shape = ShapeOf<Format, kStrips>;
  using Place = typename Shape::Place;
  using Sums = typename Shape::Sums;
  using Summing = RowSums<Format, kStrips>;
  using Solve = RowSolve<Format, kStrips>;
  using Vectors = RowVectors<Shape::kPadded>;
  using Lane = typename Vectors::Lane;
  static constexpr int kWarps = Shape::kWarps;

  // In shared memory, in floats: the tiles, later the vectors of a product with A in their place;
  // the right-hand side; what becomes the solution.
  static constexpr int kTileFloats = kStrips * (kStrips + 1) / 2 * FactorTile::kFloats;
  static constexpr int kRight =
      kTileFloats > Solve::kRightVector ? kTileFloats : Solve::kRightVector;
  static constexpr int kSolution = kRight + Shape::kPadded;
  static constexpr int kBytes = (kSolution + Shape::kPadded) * static_cast<int>(sizeof(float));

  static __device__ __forceinline__ float* tile(float* tiles, int i, int j) {
    return tiles + (i * (i + 1) / 2 + j) * FactorTile::kFloats;
  }

  template <Part kPart>
  static __device__ __forceinline__ void put_tiles(const Place& p, const Sums& sums, float scale,
                                                   float* tiles) {
    using Dealt = PartShape<kStrips, Format::kTileStrips, kPart>;
#pragma unroll
    for (int j = 0; j < Dealt::kRowStrips; ++j) {
#pragma unroll
      for (int n = 0; n < Dealt::columns(j); ++n) {
        float* to = tile(tiles, p.first_row / 16 + j, p.first_column / 16 + n / 2);
        const float(&sum)[4] = sums[Dealt::index(j, n)];
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          *reinterpret_cast<float2*>(to + FactorTile::at(p.g + 4 * i, 8 * (n % 2) + 2 * p.t)) =
              make_float2(scale * sum[i], scale * sum[i + 1]);
        }
      }
    }
  }

  /// Puts the whole matrix and the right-hand side into shared memory.
  static __device__ __forceinline__ void begin(const RowProblem& problem, Index row, const Place& p,
                                               const Sums& sums, float sum_scale, float right_scale,
                                               float floor, float* memory) {
    Shape::for_part(p, [&](auto part) { put_tiles<part.value>(p, sums, sum_scale, memory); });
    Summing::put_right(p, sums, memory + kRight);
    Shape::synchronize();
    const float own = problem.weights.explicit_feedback ? 0.0F : 1.0F;
    const float lambda = __ldg(problem.regularization + row);
    for (int c = static_cast<int>(threadIdx.x); c < Shape::kPadded; c += Shape::kThreads) {
      const float base = __ldg(problem.base + c);
      const float shrink = __ldg(problem.shrink + c);
      // Padding has base 1 and shrink 0: its unknowns become 0, whatever the feedback.
      tile(memory, c / 16, c / 16)[FactorTile::at(c % 16, c % 16)] +=
          shrink == 0.0F ? fmaxf(base, 2.0F * floor) : fmaf(own, base, lambda * shrink);
      memory[kRight + c] *= right_scale;
    }
    Shape::synchronize();
  }

  /// A_ij -= sum over first <= k < last of L_ik L_jk^T.
  static __device__ __forceinline__ void update(float* tiles, int i, int j, int first, int last,
                                                int lane) {
    FactorTile::Products products;
#pragma unroll 2
    for (int k = first; k < last; ++k) {
      products.add({tile(tiles, i, k), lane}, {tile(tiles, j, k), lane});
    }
    products.for_pairs(tile(tiles, i, j), lane, [](float2& pair, float x, float y) {
      pair.x -= x;
      pair.y -= y;
    });
  }

  /// x = this lane's number of a block of 16; both halves of the warp add to it.
  static __device__ __forceinline__ void put_block(float* x, float part, int lane) {
    part += __shfl_xor_sync(0xffffffffU, part, 16);
    if (lane < 16) x[lane] = part;
    __syncwarp();
  }

  /// The tiles become L, with W on the diagonal, and L y = b is solved on the way. Returns whether
  /// the pivots that this warp saw were above `floor`.
  static __device__ __forceinline__ bool factor(const Place& p, float* tiles, const float* b,
                                                float* y, float floor) {
    bool positive = true;
    const int role = __shfl_sync(0xffffffffU, p.role, 0);  // the compiler then knows it is uniform
    constexpr int kHelpers = kWarps > 1 ? kWarps - 1 : 1;
    const int helper = role + kHelpers - kWarps;
    const bool solves = role == kWarps - 1;
    for (int j = 0; j < kStrips; ++j) {
      float* diagonal = tile(tiles, j, j);
      if (role == 0) {
        if (j > 0) update(tiles, j, j, j - 1, j, p.lane);
        __syncwarp();
        positive = FactorTile::invert_factor(diagonal, p.lane, floor) && positive;
      }
      if (helper >= 0) {
        // After the last tile below, the next diagonal tile: it will lack only one product.
        for (int i = j + 1 + helper; i <= kStrips && j + 1 < kStrips; i += kHelpers) {
          const bool next = i == kStrips;
          update(tiles, next ? j + 1 : i, next ? j + 1 : j, 0, j, p.lane);
        }
      }
      if (solves) {
        float part = p.lane < 16 ? b[16 * j + p.lane] : 0.0F;
        for (int k = 0; k < j; ++k) {
          part -= FactorTile::row_product(tile(tiles, j, k), y + 16 * k, p.lane);
        }
        put_block(y + 16 * j, part, p.lane);
      }
      Shape::synchronize();
      for (int i = j + 1 + role; i < kStrips; i += kWarps) {
        float* below = tile(tiles, i, j);
        FactorTile::Products products;
        products.add({below, p.lane}, {diagonal, p.lane});
        __syncwarp();
        products.for_pairs(below, p.lane,
                           [](float2& pair, float x, float z) { pair = make_float2(x, z); });
      }
      if (solves) {
        const float part = FactorTile::row_product(diagonal, y + 16 * j, p.lane);
        __syncwarp();
        put_block(y + 16 * j, part, p.lane);
      }
      Shape::synchronize();
    }
    return positive;
  }

  /// One warp: y becomes z with L^T z = y.
  static __device__ __forceinline__ void solve_back(float* tiles, float* y, int lane) {
    for (int j = kStrips - 1; j >= 0; --j) {
      float part = lane < 16 ? y[16 * j + lane] : 0.0F;
      for (int i = j + 1; i < kStrips; ++i) {
        part -= FactorTile::column_product(tile(tiles, i, j), y + 16 * i, lane);
      }
      put_block(y + 16 * j, part, lane);
      part = FactorTile::column_product(tile(tiles, j, j), y + 16 * j, lane);
      __syncwarp();
      put_block(y + 16 * j, part, lane);
    }
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, Index row, const Place& p,
                                             float* memory, const Sums& sums, float sum_scale,
                                             float right_scale, double constant) {
    const float floor = smallest_pivot(problem, row);
    begin(problem, row, p, sums, sum_scale, right_scale, floor, memory);
    float* solution = memory + kSolution;
    const bool positive = factor(p, memory, memory + kRight, solution, floor);
    if (p.role == 0) {
      solve_back(memory, solution, p.lane);
      if (!positive && p.lane == 0) solution[0] = nanf("");  // and with it the objective
    }
    Shape::synchronize();
    Lane z, product;
    Vectors::load(z, solution, p.lane);
    Solve::begin(memory);
    Solve::multiply(p, sums, sum_scale, z, memory, 0, product);
    if (threadIdx.x >= 32) return;
    // constant + z^T A z - 2 b^T z, with A z from the sums: its error is of second order in z's.
    Lane diagonal, inverse, b;
    load_diagonals(Vectors(), problem, row, diagonal, inverse);
    Vectors::load(b, memory + kRight, p.lane);
    double objective = 0.0;
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) {
      objective += static_cast<double>(z[e]) * (fmaf(diagonal[e], z[e], product[e]) - 2.0F * b[e]);
    }
    objective = warp_sum(objective) + constant;
    if (p.lane == 0) {
      problem.objectives[row] = objective;
      if (!isfinite(objective)) give_up(problem, row);
    }
    Vectors::store(problem.solutions + Offset{row} * Shape::kPadded, z, p.lane);
  }
};

}  // namespace likewise::cuda
