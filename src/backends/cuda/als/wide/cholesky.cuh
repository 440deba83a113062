// SPDX-License-Identifier: Apache-2.0
/// Solves rows exactly, A = L L^T, where wide/matrices.cuh left A in memory: a block per row, which
/// writes L beside A and reads it back from there, panel by panel of 64 columns (left-looking).
///
/// Tiles of L lie as those of A, in the order of the products: a lane's four numbers of 16 x 8 are
/// then left and right operands as they are, if their columns 2 t, 2 t + 1 stand for depths t, t
/// + 4. Diagonal tiles are rows/cholesky.cuh's. Products are exact to float32.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/cholesky.cuh"
#include "backends/cuda/als/rows/scatter.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/als/wide/tiles.h"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

struct WideCholesky {
  using Format = FloatFormat;
  using Strip = Format::Strip;
  static constexpr int kStrips = kTileColumns / 16;
  static constexpr int kEights = 2 * kStrips;  ///< 8-columns of a tile
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static_assert(kWarps == kStrips, "a warp sums a strip of the diagonal tile");
  using Panel = RowCholesky<Format, kStrips>;  ///< of a diagonal tile
  using Sums = float[kStrips][kEights][4];

  struct Memory {
    float diagonal[Panel::kTileFloats];
    float solution[kMostPadded];  ///< b, y of L y = b, then z
    float parts[kWarps * kTileColumns];
  };

  /// The row's matrix, and where its factor goes.
  struct Matrix {
    const float* a;
    float* l;
    float scale;
    int side;
    float floor;  ///< of pivots
  };

  [[nodiscard]] static __device__ __forceinline__ const float4* tile(const float* slot, int row,
                                                                     int column) {
    return reinterpret_cast<const float4*>(slot + Offset{tile_number(row, column)} * kTileFloats);
  }

  static __device__ __forceinline__ void split(Strip& strip, const float4& four) {
    Format::split(strip, 0, four.x);
    Format::split(strip, 1, four.z);
    Format::split(strip, 2, four.y);
    Format::split(strip, 3, four.w);
  }

  /// Columns 8 q + 2 t, 8 q + 2 t + 1 of a FactorTile as a right operand.
  static __device__ __forceinline__ void split(Strip& strip, const float* tile, int q, int lane) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto pair = *reinterpret_cast<const float2*>(
          tile + FactorTile::at(8 * h + lane / 4, 8 * q + 2 * (lane % 4)));
      Format::split(strip, h, pair.x);
      Format::split(strip, h + 2, pair.y);
    }
  }

  /// b and the diagonal tile of panel j, of which a warp does one strip of rows, into shared
  /// memory: b_j - sum L_jk y_k, A_jj - sum L_jk L_jk^T.
  static __device__ __forceinline__ void begin_panel(const RowProblem& problem, Index row,
                                                     const Matrix& m, int j, Memory& memory) {
    const int own = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float sums[kEights][4] = {};
    float right[2] = {};
    for (int k = 0; k < j; ++k) {
      const float4* from = tile(m.l, j, k) + lane;
#pragma unroll 2
      for (int n = 0; n < kEights; ++n) {
        const float4 mine = from[32 * (kEights * own + n)];
        const auto y = *reinterpret_cast<const float2*>(memory.solution + kTileColumns * k + 8 * n +
                                                        2 * (lane % 4));
        right[0] = fmaf(mine.x, y.x, fmaf(mine.y, y.y, right[0]));
        right[1] = fmaf(mine.z, y.x, fmaf(mine.w, y.y, right[1]));
        Strip a;
        split(a, mine);
#pragma unroll
        for (int i = 0; i < kStrips; ++i) {
          if (i > own) continue;
          Strip b;
          split(b, from[32 * (kEights * i + n)]);
          Format::multiply(sums[2 * i], a, b, 0);
          Format::multiply(sums[2 * i + 1], a, b, 1);
        }
      }
    }
    scatter_sum<2, 1, 1>(right, lane);
    right[0] += __shfl_xor_sync(0xffffffffU, right[0], 2);
    if (lane % 4 < 2) {
      memory.solution[kTileColumns * j + 16 * own + 8 * (lane % 4) + lane / 4] -= right[0];
    }
    const float4* from = tile(m.a, j, j) + lane;
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
      if (n / 2 > own) continue;
      const float4 a = from[32 * (kEights * own + n)];
      float* to = Panel::tile(memory.diagonal, own, n / 2);
      const int column = 8 * (n % 2) + 2 * (lane % 4);
      *reinterpret_cast<float2*>(to + FactorTile::at(lane / 4, column)) =
          make_float2(fmaf(m.scale, a.x, -sums[n][0]), fmaf(m.scale, a.y, -sums[n][1]));
      *reinterpret_cast<float2*>(to + FactorTile::at(lane / 4 + 8, column)) =
          make_float2(fmaf(m.scale, a.z, -sums[n][2]), fmaf(m.scale, a.w, -sums[n][3]));
    }
    __syncwarp();
    if (lane < 16) {
      Panel::tile(memory.diagonal, own, own)[FactorTile::at(lane, lane)] +=
          own_diagonal(problem, row, kTileColumns * j + 16 * own + lane, m.floor);
    }
  }

  /// What the matrix has on its diagonal besides the sums: padding gets 1, its unknowns become 0.
  static __device__ __forceinline__ float own_diagonal(const RowProblem& problem, Index row,
                                                       int column, float floor) {
    const float padding = fmaxf(1.0F, 2.0F * floor);
    if (column >= problem.padded) return padding;
    const float base = __ldg(problem.base + column);
    const float shrink = __ldg(problem.shrink + column);
    const float own = problem.weights.explicit_feedback ? 0.0F : 1.0F;
    return shrink == 0.0F ? padding : fmaf(own, base, __ldg(problem.regularization + row) * shrink);
  }

  /// sums = A_ij - sum over k < j of L_ik L_jk^T.
  static __device__ __forceinline__ void update(const Matrix& m, int i, int j, int lane,
                                                Sums& sums) {
#pragma unroll
    for (int r = 0; r < kStrips; ++r) {
#pragma unroll
      for (int n = 0; n < kEights; ++n) {
        const float4 a = tile(m.a, i, j)[32 * (kEights * r + n) + lane];
        sums[r][n][0] = -m.scale * a.x;
        sums[r][n][1] = -m.scale * a.y;
        sums[r][n][2] = -m.scale * a.z;
        sums[r][n][3] = -m.scale * a.w;
      }
    }
    for (int k = 0; k < j; ++k) {
      const float4* left = tile(m.l, i, k) + lane;
      const float4* right = tile(m.l, j, k) + lane;
#pragma unroll 1
      for (int n = 0; n < kEights; ++n) {
        Strip a[kStrips];
#pragma unroll
        for (int r = 0; r < kStrips; ++r) split(a[r], left[32 * (kEights * r + n)]);
#pragma unroll
        for (int c = 0; c < kStrips; ++c) {
          Strip b;
          split(b, right[32 * (kEights * c + n)]);
#pragma unroll
          for (int r = 0; r < kStrips; ++r) {
            Format::multiply(sums[r][2 * c], a[r], b, 0);
            Format::multiply(sums[r][2 * c + 1], a[r], b, 1);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kStrips; ++r) {
#pragma unroll
      for (int n = 0; n < kEights; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[r][n][e] = -sums[r][n][e];
      }
    }
  }

  /// sums becomes X with X L_jj^T = sums, strip by strip:
  /// X_c = (sums_c - sum over d < c of X_d L_cd^T) W_cc^T.
  static __device__ __forceinline__ void divide(Memory& memory, int lane, Sums& sums) {
    const auto left = [&](Strip& strip, const float(&x)[4], float sign) {
      split(strip, make_float4(sign * x[0], sign * x[1], sign * x[2], sign * x[3]));
    };
#pragma unroll
    for (int c = 0; c < kStrips; ++c) {
#pragma unroll
      for (int n = 0; n < 2 * c; ++n) {
        Strip b;
        split(b, Panel::tile(memory.diagonal, c, n / 2), n % 2, lane);
#pragma unroll
        for (int r = 0; r < kStrips; ++r) {
          Strip a;
          left(a, sums[r][n], -1.0F);
          Format::multiply(sums[r][2 * c], a, b, 0);
          Format::multiply(sums[r][2 * c + 1], a, b, 1);
        }
      }
      Strip w[2];
#pragma unroll
      for (int q = 0; q < 2; ++q) split(w[q], Panel::tile(memory.diagonal, c, c), q, lane);
#pragma unroll
      for (int r = 0; r < kStrips; ++r) {
        float x[2][4] = {};
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          Strip a;
          left(a, sums[r][2 * c + q], 1.0F);
          Format::multiply(x[0], a, w[q], 0);
          Format::multiply(x[1], a, w[q], 1);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          sums[r][2 * c][e] = x[0][e];
          sums[r][2 * c + 1][e] = x[1][e];
        }
      }
    }
  }

  static __device__ __forceinline__ void store(const Matrix& m, int i, int j, int lane,
                                               const Sums& sums) {
    auto* to = const_cast<float4*>(tile(m.l, i, j)) + lane;
#pragma unroll
    for (int r = 0; r < kStrips; ++r) {
#pragma unroll
      for (int n = 0; n < kEights; ++n) {
        const float(&x)[4] = sums[r][n];
        to[32 * (kEights * r + n)] = make_float4(x[0], x[1], x[2], x[3]);
      }
    }
  }

  static __device__ __forceinline__ typename Panel::Place panel_place(int lane) {
    typename Panel::Place place{};
    place.lane = lane;
    return place;
  }

  /// Panel j of L, and y's part. Returns whether the pivots that this warp saw were above the
  /// floor.
  static __device__ __forceinline__ bool factor_panel(const Matrix& m, int j, Memory& memory) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    bool positive = true;
    if (warp == 0) {
      float* y = memory.solution + kTileColumns * j;
      positive = Panel::factor(panel_place(lane), memory.diagonal, y, y, m.floor);
    }
    bool factored = false;
    int i = j + 1 + (warp + kWarps - 1) % kWarps;  // the first warp has the least to do
    do {
      Sums sums;
      if (i < m.side) update(m, i, j, lane, sums);
      if (!factored) __syncthreads();
      factored = true;
      if (i < m.side) {
        divide(memory, lane, sums);
        store(m, i, j, lane, sums);
      }
      i += kWarps;
    } while (i < m.side);
    auto* to = reinterpret_cast<float4*>(m.l + Offset{tile_number(j, j)} * kTileFloats);
    for (int at = static_cast<int>(threadIdx.x); at < Panel::kTileFloats / 4; at += kThreads) {
      to[at] = reinterpret_cast<const float4*>(memory.diagonal)[at];
    }
    return positive;
  }

  /// z_j of L^T z = y, when those after it are known.
  static __device__ __forceinline__ void solve_back(const Matrix& m, int j, Memory& memory) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int g = lane / 4;
    float by_column[2 * kEights] = {};
    for (int i = j + 1 + warp; i < m.side; i += kWarps) {
      const float4* from = tile(m.l, i, j) + lane;
#pragma unroll
      for (int r = 0; r < kStrips; ++r) {
        const float upper = memory.solution[kTileColumns * i + 16 * r + g];
        const float lower = memory.solution[kTileColumns * i + 16 * r + 8 + g];
#pragma unroll
        for (int n = 0; n < kEights; ++n) {
          const float4 l = from[32 * (kEights * r + n)];
          by_column[2 * n] = fmaf(l.x, upper, fmaf(l.z, lower, by_column[2 * n]));
          by_column[2 * n + 1] = fmaf(l.y, upper, fmaf(l.w, lower, by_column[2 * n + 1]));
        }
      }
    }
    scatter_sum<2 * kEights, 4, 16>(by_column, lane);
    // Numbers 2 n, 2 n + 1 of by_column are left: columns 8 n + 2 t and the next.
    const int n = 4 * (g & 1) + 2 * ((g >> 1) & 1) + (g >> 2);
    *reinterpret_cast<float2*>(memory.parts + kTileColumns * warp + 8 * n + 2 * (lane % 4)) =
        make_float2(by_column[0], by_column[1]);
    const float4* diagonal = tile(m.l, j, j);
    for (int at = static_cast<int>(threadIdx.x); at < Panel::kTileFloats / 4; at += kThreads) {
      reinterpret_cast<float4*>(memory.diagonal)[at] = diagonal[at];
    }
    __syncthreads();
    if (warp > 0) return;
    float* y = memory.solution + kTileColumns * j;
    for (int c = lane; c < kTileColumns; c += 32) {
#pragma unroll
      for (int part = 0; part < kWarps; ++part) y[c] -= memory.parts[kTileColumns * part + c];
    }
    __syncwarp();
    Panel::solve_back(memory.diagonal, y, lane);
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask& task,
                                             Memory& memory) {
    const RowBounds bounds(problem, task.row);
    const float inverse_scale = 1.0F / problem.scale;
    const int side = tile_columns(problem.padded);
    float* slot = problem.piece_sums + task.slot * slot_floats(problem.padded);
    const Matrix m{slot, slot + slot_floats(problem.padded),
                   bounds.w * inverse_scale * inverse_scale, side,
                   smallest_pivot(problem, task.row)};
    const float* right = slot + Offset{tile_number(side, 0)} * kTileFloats;
    for (int c = static_cast<int>(threadIdx.x); c < side * kTileColumns; c += kThreads) {
      memory.solution[c] = right[c] * (bounds.v * inverse_scale);
    }
    bool positive = true;
    for (int j = 0; j < side; ++j) {
      __syncthreads();
      begin_panel(problem, task.row, m, j, memory);
      __syncthreads();
      positive = factor_panel(m, j, memory) && positive;
    }
    for (int j = side - 1; j >= 0; --j) {
      __syncthreads();
      solve_back(m, j, memory);
    }
    positive = __syncthreads_and(positive);
    float* to = problem.solutions + Offset{task.row} * problem.padded;
    for (int c = static_cast<int>(threadIdx.x); c < problem.padded; c += kThreads) {
      to[c] = positive ? memory.solution[c] : 0.0F;
    }
    if (!positive && threadIdx.x == 0) give_up(problem, task.row);
  }
};

/// The objectives are matrix_solve_kernel's: no steps from a warm start.
__global__ void __launch_bounds__(WideCholesky::kThreads, 2)
    wide_cholesky_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks) {
  __shared__ __align__(16) WideCholesky::Memory memory;
  WideCholesky::run(problem, tasks[blockIdx.x], memory);
}

}  // namespace likewise::cuda
