// SPDX-License-Identifier: Apache-2.0
/// Solves a row while its summed matrix lies in the registers of a block.
#pragma once

#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/sums.cuh"
#include "backends/cuda/als/rows/vectors.cuh"

namespace likewise::cuda {

template <class Format, int kStrips>
struct RowSolve {
  using Shape = ShapeOf<Format, kStrips>;
  using Place = typename Shape::Place;
  using Sums = typename Shape::Sums;
  using Summing = RowSums<Format, kStrips>;
  using Vectors = RowVectors<Shape::kPadded>;
  using Lane = typename Vectors::Lane;
  static constexpr int kOwn = Vectors::kOwn;
  static constexpr int kColumns = 32 * kOwn;  ///< a vector's place
  static constexpr int kPartials = Shape::kPartials;

  /// The vectors in shared memory.
  static constexpr int kOwnVectors = 0;  ///< every warp's copy of the vector to multiply with
  static constexpr int kPartialVectors = Shape::kWarps * kColumns;  ///< [2][kPartials][kColumns]
  static constexpr int kRightVector = kPartialVectors + 2 * kPartials * kColumns;
  static constexpr int kBytes = (kRightVector + kColumns) * static_cast<int>(sizeof(float));

  /// Clears the numbers that no warp will add to.
  static __device__ __forceinline__ void begin(float* vectors) {
    if constexpr (kPartials > 1) {
      for (int i = static_cast<int>(threadIdx.x); i < 2 * kPartials * kColumns;
           i += Shape::kThreads) {
        vectors[kPartialVectors + i] = 0.0F;
      }
    }
    Shape::synchronize();
  }

  /// product = scale * sums * v. Every warp gets the whole.
  static __device__ __forceinline__ void multiply(const Place& p, const Sums& sums, float scale,
                                                  const Lane& v, float* vectors, int turn,
                                                  Lane& product) {
    float* own = vectors + kOwnVectors + static_cast<int>(threadIdx.x) / 32 * kColumns;
    float* partial = vectors + kPartialVectors + turn * kPartials * kColumns;
    Vectors::store(own, v, p.lane);
    __syncwarp();
    Shape::for_part(
        p, [&](auto part) { Summing::template multiply_sums<part.value>(p, sums, own, partial); });
    Shape::synchronize();
#pragma unroll
    for (int e = 0; e < kOwn; ++e) product[e] = 0.0F;
#pragma unroll
    for (int s = 0; s < kPartials; ++s) {
      Lane part;
      Vectors::load(part, partial + s * kColumns, p.lane);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) product[e] += part[e];
    }
#pragma unroll
    for (int e = 0; e < kOwn; ++e) product[e] *= scale;
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, Index row, const Place& p,
                                             float* vectors, const Sums& sums, float sum_scale,
                                             float right_scale, typename Format::Total constant) {
    Summing::put_right(p, sums, vectors + kRightVector);
    begin(vectors);
    Lane r;
    Vectors::load(r, vectors + kRightVector, p.lane);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) r[e] *= right_scale;
    solve_row(Vectors(), problem, row, problem.warm, r, RowTotals<typename Format::Total>{constant},
              [&](const Lane& v, int step, Lane& product, bool) {
                multiply(p, sums, sum_scale, v, vectors, step & 1, product);
              });
  }
};

}  // namespace likewise::cuda
