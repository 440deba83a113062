// SPDX-License-Identifier: Apache-2.0
/// Solves rows whose matrices lie in memory as wide/matrices.cuh left them, a block per row.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/scatter.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/als/wide/tiles.h"
#include "backends/cuda/als/wide/vectors.cuh"

namespace likewise::cuda {

/// Adds the sums of a row's pieces, in their order, into the first of them: blockIdx.x says which
/// row, the blocks of a row share its numbers.
inline constexpr int kPieceThreads = 256;
__global__ void add_pieces_kernel(const __grid_constant__ RowProblem problem,
                                  const RowTask* tasks) {
  const RowTask task = tasks[blockIdx.x];
  if (task.slots < 2) return;
  const Offset size = slot_floats(problem.padded) / 4;
  auto* first = reinterpret_cast<float4*>(problem.piece_sums) + task.slot * size;
  const Offset step = Offset{gridDim.y} * kPieceThreads;
  for (Offset at = Offset{blockIdx.y} * kPieceThreads + threadIdx.x; at < size; at += step) {
    float4 sum = first[at];
    for (int piece = 1; piece < task.slots; ++piece) {
      const float4 more = first[piece * size + at];
      sum.x += more.x;
      sum.y += more.y;
      sum.z += more.z;
      sum.w += more.w;
    }
    first[at] = sum;
  }
}

template <int kSlices>
struct MatrixSolve {
  using Vectors = BlockVectors<kSlices>;
  using Lane = typename Vectors::Lane;
  static constexpr int kWarps = 8;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kColumns = Vectors::kColumns;
  static constexpr int kProducts = kTileFloats / 128;  ///< of 16 x 8 in a tile
  static constexpr int kStrips = kTileColumns / 16;

  struct Memory {
    float vector[kColumns];
    float parts[kWarps * kColumns];
    float sums[2 * Vectors::kWarps];
  };

  /// part += tile * x, and for a tile below the diagonal its transpose's product too.
  template <bool kDiagonal>
  static __device__ __forceinline__ void multiply_tile(const float4* tile, const float* x_rows,
                                                       const float* x_columns, float* rows,
                                                       float* columns, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    float by_row[2 * kStrips] = {};
    float by_column[4 * kStrips] = {};
    float x[2 * kStrips];
#pragma unroll
    for (int j = 0; j < kStrips; ++j) {
      x[2 * j] = x_rows[16 * j + g];
      x[2 * j + 1] = x_rows[16 * j + 8 + g];
    }
#pragma unroll
    for (int j = 0; j < kStrips; ++j) {
#pragma unroll
      for (int n = 0; n < (kDiagonal ? 2 * j + 2 : 2 * kStrips); ++n) {
        const float4 sum = tile[32 * (2 * kStrips * j + n) + lane];
        const float2 y = *reinterpret_cast<const float2*>(x_columns + 8 * n + 2 * t);
        by_row[2 * j] = fmaf(sum.x, y.x, by_row[2 * j]);
        by_row[2 * j] = fmaf(sum.y, y.y, by_row[2 * j]);
        by_row[2 * j + 1] = fmaf(sum.z, y.x, by_row[2 * j + 1]);
        by_row[2 * j + 1] = fmaf(sum.w, y.y, by_row[2 * j + 1]);
        if (!kDiagonal || n < 2 * j) {
          by_column[2 * n] = fmaf(sum.x, x[2 * j], by_column[2 * n]);
          by_column[2 * n] = fmaf(sum.z, x[2 * j + 1], by_column[2 * n]);
          by_column[2 * n + 1] = fmaf(sum.y, x[2 * j], by_column[2 * n + 1]);
          by_column[2 * n + 1] = fmaf(sum.w, x[2 * j + 1], by_column[2 * n + 1]);
        }
      }
    }
    scatter_sum<2 * kStrips, 1, 2>(by_row, lane);
    scatter_sum<4 * kStrips, 4, 16>(by_column, lane);
    // Numbers 2 j, 2 j + 1 of by_row are left: rows 16 j + g and 8 further.
    const int j = 2 * (t & 1) + (t >> 1);
    rows[16 * j + g] += by_row[0];
    rows[16 * j + 8 + g] += by_row[1];
    __syncwarp();
    // Numbers 2 n, 2 n + 1 of by_column are left: columns 8 n + 2 t and the next.
    const int n = 4 * (g & 1) + 2 * ((g >> 1) & 1) + (g >> 2);
    columns[8 * n + 2 * t] += by_column[0];
    columns[8 * n + 2 * t + 1] += by_column[1];
    __syncwarp();
  }

  /// This warp's part of the product of the matrix with the shared vector.
  static __device__ __forceinline__ void multiply(const float* slot, int side, Memory& memory) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float* part = memory.parts + warp * kColumns;
    for (int at = lane; at < kColumns; at += 32) part[at] = 0.0F;
    __syncwarp();
    int row = 0;
    int column = warp;
    while (true) {
      while (column > row) column -= ++row;
      if (row >= side) break;
      const auto* tile =
          reinterpret_cast<const float4*>(slot + Offset{tile_number(row, column)} * kTileFloats);
      const float* x_rows = memory.vector + row * kTileColumns;
      const float* x_columns = memory.vector + column * kTileColumns;
      float* rows = part + row * kTileColumns;
      float* columns = part + column * kTileColumns;
      if (row == column) {
        multiply_tile<true>(tile, x_rows, x_columns, rows, columns, lane);
      } else {
        multiply_tile<false>(tile, x_rows, x_columns, rows, columns, lane);
      }
      column += kWarps;
    }
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask& task,
                                             Memory& memory) {
    const Vectors on{problem.padded, memory.sums};
    const int side = tile_columns(problem.padded);
    const float* slot = problem.piece_sums + task.slot * slot_floats(problem.padded);
    const RowBounds bounds(problem, task.row);
    const float inverse_scale = 1.0F / problem.scale;
    const float scale = bounds.w * inverse_scale * inverse_scale;
    RowTotals<double> totals;
    for (int piece = 0; piece < task.slots; ++piece) {
      totals.constant += problem.piece_constants[task.slot + piece];
    }
    Lane r;
    on.load(r, slot + tile_number(side, 0) * kTileFloats);
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) r[e] *= bounds.v * inverse_scale;
    solve_row(on, problem, task.row, problem.warm, r, totals,
              [&](const Lane& v, int, Lane& product, bool) {
                on.share(memory.vector, v);
                __syncthreads();
                multiply(slot, side, memory);
                __syncthreads();
                on.add_up(memory.parts, kWarps, product);
#pragma unroll
                for (int e = 0; e < Vectors::kOwn; ++e) product[e] *= scale;
              });
  }
};

template <int kSlices>
__global__ void __launch_bounds__(MatrixSolve<kSlices>::kThreads, 2)
    matrix_solve_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks) {
  using Kernel = MatrixSolve<kSlices>;
  __shared__ __align__(16) typename Kernel::Memory memory;
  Kernel::run(problem, tasks[blockIdx.x], memory);
}

}  // namespace likewise::cuda
