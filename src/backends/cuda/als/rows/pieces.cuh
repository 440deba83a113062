// SPDX-License-Identifier: Apache-2.0
/// What is summed over a row's interactions, as registers of a block hold it, whatever warp has
/// what.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"

namespace likewise::cuda {

template <class Shape>
struct RowPieces {
  using Place = typename Shape::Place;
  using Sums = typename Shape::Sums;

  template <class Visit>
  static __device__ __forceinline__ void for_each_sum(Sums& sums, Visit visit) {
#pragma unroll
    for (int n = 0; n < Shape::kProducts; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) visit(sums[n][i], 4 * n + i);
    }
  }

  static constexpr Offset kPieceFloats = Offset{Shape::kThreads} * 4 * Shape::kProducts;

  static __device__ __forceinline__ void store_piece(const RowProblem& problem, int slot,
                                                     const Place& p, Sums& sums, double constant) {
    float* to = problem.piece_sums + slot * kPieceFloats + p.role * 32 + p.lane;
    for_each_sum(sums, [&](float& x, int at) { to[Offset{at} * Shape::kThreads] = x; });
    if (threadIdx.x == 0) problem.piece_constants[slot] = constant;
  }

  /// The row's pieces, added in their order. Returns their constants' sum.
  static __device__ __forceinline__ double load_pieces(const RowProblem& problem,
                                                       const RowTask& task, const Place& p,
                                                       Sums& sums) {
    double constant = 0.0;
    for (int piece = task.slot; piece < task.slot + task.slots; ++piece) {
      const float* from = problem.piece_sums + piece * kPieceFloats + p.role * 32 + p.lane;
      for_each_sum(sums, [&](float& x, int at) { x += from[Offset{at} * Shape::kThreads]; });
      constant += problem.piece_constants[piece];
    }
    return constant;
  }

  /// Of a product with the parts of a right-hand side, which are the columns 0 to 2 of a right
  /// operand: their sum in rows g and g + 8, in the lanes t = 0 and 1.
  static __device__ __forceinline__ void right_of(const float (&product)[4], int t, float& upper,
                                                  float& lower) {
    // Columns 0 and 1 are in lanes t = 0, columns 2 and 3 in lanes t = 1.
    upper = t < 2 ? product[0] + product[1] : 0.0F;
    lower = t < 2 ? product[2] + product[3] : 0.0F;
    upper += __shfl_xor_sync(0xffffffffU, upper, 1);
    lower += __shfl_xor_sync(0xffffffffU, lower, 1);
  }
};

}  // namespace likewise::cuda
