// SPDX-License-Identifier: Apache-2.0
/// float64 products of 16 x 16 tiles by one warp on tensor cores.
#pragma once

namespace likewise::cuda {

constexpr int kTile = 16;

/// A 16 x 16 tile as the lanes hold it. Lane (g, t) = (lane / 4, lane % 4) has in at[m][n] row
/// 8m + g, columns 8n + 2t, 8n + 2t + 1.
struct DoubleTile {
  double at[2][2][2] = {};

  /// += a b for 16 x depth a and depth x 16 b, or b^T with b 16 x depth; the depth is a multiple
  /// of 4. All row-major, with the given number of doubles from one row to the next.
  template <bool kTransposed>
  __device__ __forceinline__ void add(const double* a, int a_stride, const double* b, int b_stride,
                                      int depth, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
#pragma unroll 4
    for (int k = t; k < depth; k += 4) {
      double left[2];
      double right[2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        left[m] = a[(8 * m + g) * a_stride + k];
        right[m] = kTransposed ? b[(8 * m + g) * b_stride + k] : b[k * b_stride + 8 * m + g];
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\n"
              : "+d"(at[m][n][0]), "+d"(at[m][n][1])
              : "d"(left[m]), "d"(right[n]));
        }
      }
    }
  }

  /// For each pair of neighbours: visit(row, column, first, second).
  template <class Visit>
  __device__ __forceinline__ void each(int lane, Visit visit) {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        visit(8 * m + lane / 4, 8 * n + lane % 4 * 2, at[m][n][0], at[m][n][1]);
      }
    }
  }

  __device__ __forceinline__ void store(double* to, int stride, double sign, int lane) {
    each(lane, [&](int row, int column, double x, double y) {
      *reinterpret_cast<double2*>(to + row * stride + column) = {sign * x, sign * y};
    });
  }

  __device__ __forceinline__ void add_to(double* to, int stride, double sign, int lane) {
    each(lane, [&](int row, int column, double x, double y) {
      auto& pair = *reinterpret_cast<double2*>(to + row * stride + column);
      pair = {pair.x + sign * x, pair.y + sign * y};
    });
  }
};

}  // namespace likewise::cuda
