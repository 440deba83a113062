// SPDX-License-Identifier: Apache-2.0
/// A small symmetric system in float64, solved by one block of threads.
#pragma once

#include "backends/cuda/device/warp.cuh"
#include "likewise/types.h"

namespace likewise::cuda {

/// How a DoubleSystem lies in memory.
struct DoubleSystemShape {
  static constexpr int kPanel = 8;  ///< columns that are eliminated at a time
  static constexpr int kTile = 4;

  /// Rows and columns with those behind A: the right-hand side, and others that nothing reads.
  [[nodiscard]] static __host__ __device__ constexpr int side(int columns) {
    return columns + kTile;
  }
  [[nodiscard]] static __host__ __device__ constexpr Offset numbers(int columns) {
    return Offset{side(columns)} * side(columns);
  }
  /// Of shared memory that solving takes.
  [[nodiscard]] static __host__ __device__ constexpr int panel_bytes(int columns) {
    return (side(columns) + 1) * kPanel * static_cast<int>(sizeof(double));
  }
};

/// The matrix, in shared or global memory, of which the lower triangle counts, is
///
///     A   b
///     b^T c
///
/// so that eliminating A leaves L of A = L L^T in its place, y of L y = b in that of b, and in the
/// place of c the minimum of x^T A x - 2 b^T x + c; solving back leaves x in the place of b. The
/// triangle is worked on in tiles of 4 x 4, by thread.
template <int kThreads>
class DoubleSystem : public DoubleSystemShape {
 public:
  /// `columns`: of A, a multiple of kPanel. `panel` is aligned to 16 bytes.
  __device__ DoubleSystem(double* matrix, int columns, double* panel)
      : matrix_(matrix), columns_(columns), side_(side(columns)), panel_(panel) {}

  [[nodiscard]] __device__ double& at(int row, int column) const {
    return matrix_[Offset{row} * side_ + column];
  }
  /// x, when it is there: the numbers of a row of A.
  [[nodiscard]] __device__ double* solution() const { return &at(columns_, 0); }
  /// When A is eliminated.
  [[nodiscard]] __device__ double minimum() const { return at(columns_, columns_); }

  /// Solves the matrix that is there. All threads take part, after a barrier. Returns, to each
  /// alike, whether all pivots were above `least`.
  [[nodiscard]] __device__ bool solve(double least) const {
    bool positive = true;
    for (int first = 0; first < columns_; first += kPanel) {
      for (int job = first * kPanel + thread(); job < side_ * kPanel; job += kThreads) {
        in_panel(job / kPanel, job % kPanel) = at(job / kPanel, first + job % kPanel);
      }
      positive = factor_panel(first, least) && positive;
      for_tiles(first + kPanel, [&](int row, int column) {
        double tile[kTile][kTile];
        for_each(tile, [&](double& x, int i, int j) { x = at(row + i, column + j); });
        subtract_products(tile, row, column);
        for_each(tile, [&](double& x, int i, int j) { at(row + i, column + j) = x; });
      });
      __syncthreads();
    }
    solve_back();
    return positive;
  }

  /// As solve(), for the matrix of these number(row, column), which it calls for the lower triangle
  /// and for what tiles on the diagonal have above it. The triangle stays in registers where those
  /// of kOwn tiles a thread are enough.
  template <int kOwn, class Number>
  [[nodiscard]] __device__ bool solve(double least, const Number& number) const {
    const int tiles = side_ / kTile * (side_ / kTile + 1) / 2;
    if (tiles <= kOwn * kThreads) return solve_in_registers<kOwn>(least, number);
    for_tiles(0, [&](int row, int column) {
      for (int i = 0; i < kTile; ++i) {
        for (int j = 0; j < kTile; ++j) at(row + i, column + j) = number(row + i, column + j);
      }
    });
    __syncthreads();
    return solve(least);
  }

  /// Calls visit(row, column) for this thread's tiles of the lower triangle from `first` on.
  template <class Visit>
  __device__ void for_tiles(int first, Visit visit) const {
    int row = first / kTile;
    int column = row + thread();
    while (row < side_ / kTile) {
      if (column > row) {
        column -= ++row - first / kTile;
        continue;
      }
      visit(kTile * row, kTile * column);
      column += kThreads;
    }
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  /// Column by column, so that neighbours are in one.
  [[nodiscard]] __device__ double& in_panel(int row, int c) const {
    return panel_[c * side_ + row];
  }
  /// Of the numbers on the diagonal of L, of the panel.
  [[nodiscard]] __device__ double* inverses() const { return panel_ + kPanel * side_; }

  template <class Visit>
  static __device__ __forceinline__ void for_each(double (&tile)[kTile][kTile], Visit visit) {
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
#pragma unroll
      for (int j = 0; j < kTile; ++j) visit(tile[i][j], i, j);
    }
  }

  template <int kOwn, class Number>
  [[nodiscard]] __device__ bool solve_in_registers(double least, const Number& number) const {
    double tiles[kOwn][kTile][kTile];
    int rows[kOwn];
    int columns[kOwn];
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      int row = 0;
      int column = thread() + own * kThreads;
      while (column > row) column -= ++row;
      rows[own] = kTile * row;
      columns[own] = row < side_ / kTile ? kTile * column : -kTile;  // none
      if (columns[own] < 0) continue;
      for_each(tiles[own],
               [&](double& x, int i, int j) { x = number(rows[own] + i, columns[own] + j); });
    }
    bool positive = true;
    for (int first = 0; first < columns_; first += kPanel) {
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        const int column = columns[own] - first;
        if (column < 0 || column >= kPanel) continue;
        for_each(tiles[own],
                 [&](double& x, int i, int j) { in_panel(rows[own] + i, column + j) = x; });
      }
      positive = factor_panel(first, least) && positive;
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        if (columns[own] >= first + kPanel) subtract_products(tiles[own], rows[own], columns[own]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      if (columns[own] == columns_) at(columns_, columns_) = tiles[own][0][0];
    }
    __syncthreads();
    solve_back();
    return positive;
  }

  /// Columns [first, first + kPanel), which the panel has, and keeps; the matrix gets them. Begins
  /// with a barrier, and ends after one.
  [[nodiscard]] __device__ bool factor_panel(int first, double least) const {
    __syncthreads();
    bool positive = true;
    if (thread() < 32) positive = factor_block(first, least);
    positive = __syncthreads_and(positive) != 0;
    const double* inverse = inverses();
    for (int r = first + kPanel + thread(); r < side_; r += kThreads) {
      double x[kPanel];
#pragma unroll
      for (int c = 0; c < kPanel; ++c) x[c] = in_panel(r, c);
#pragma unroll
      for (int c = 0; c < kPanel; ++c) {
        x[c] *= inverse[c];
#pragma unroll
        for (int d = c + 1; d < kPanel; ++d) x[d] -= x[c] * in_panel(first + d, c);
      }
#pragma unroll
      for (int c = 0; c < kPanel; ++c) in_panel(r, c) = x[c];
    }
    __syncthreads();
    for (int job = first * kPanel + thread(); job < side_ * kPanel; job += kThreads) {
      at(job / kPanel, first + job % kPanel) = in_panel(job / kPanel, job % kPanel);
    }
    return positive;
  }

  /// The panel's rows on the diagonal, by a warp: each lane has one.
  [[nodiscard]] __device__ bool factor_block(int first, double least) const {
    const int lane = thread() % kPanel;
    double x[kPanel];
#pragma unroll
    for (int c = 0; c < kPanel; ++c) x[c] = c <= lane ? in_panel(first + lane, c) : 0.0;
    bool positive = true;
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      const double pivot = of_lane(x[c], c);
      positive = positive && pivot > least;
      const double factor = rsqrt(pivot);
      x[c] *= factor;
      if (lane == c) inverses()[c] = factor;
#pragma unroll
      for (int d = c + 1; d < kPanel; ++d) x[d] -= x[c] * of_lane(x[c], d);
    }
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      if (thread() < kPanel && c <= lane) in_panel(first + lane, c) = x[c];
    }
    return positive;
  }
  [[nodiscard]] static __device__ __forceinline__ double of_lane(double x, int lane) {
    return __shfl_sync(0xffffffffU, x, lane);
  }

  /// What a tile loses by the panel.
  __device__ __forceinline__ void subtract_products(double (&tile)[kTile][kTile], int row,
                                                    int column) const {
#pragma unroll
    for (int k = 0; k < kPanel; ++k) {
      double left[kTile];
      double right[kTile];
      load_four(left, &in_panel(row, k));
      load_four(right, &in_panel(column, k));
      for_each(tile, [&](double& x, int i, int j) { x = fma(-left[i], right[j], x); });
    }
  }
  static __device__ __forceinline__ void load_four(double (&to)[kTile], const double* from) {
    const auto first = reinterpret_cast<const double2*>(from)[0];
    const auto second = reinterpret_cast<const double2*>(from)[1];
    to[0] = first.x, to[1] = first.y, to[2] = second.x, to[3] = second.y;
  }

  /// x of L^T x = y in the place of y.
  __device__ void solve_back() const {
    for (int first = columns_ - kPanel; first >= 0; first -= kPanel) solve_back(first);
  }
  /// Columns [first, first + kPanel), when those after are known.
  __device__ void solve_back(int first) const {
    double* y = solution();
    double sums[kPanel] = {};
    for (int r = first + kPanel + thread(); r < columns_; r += kThreads) {
#pragma unroll
      for (int c = 0; c < kPanel; ++c) sums[c] = fma(at(r, first + c), y[r], sums[c]);
    }
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      sums[c] = warp_sum(sums[c]);
      if (thread() % 32 == 0) panel_[thread() / 32 * kPanel + c] = sums[c];
    }
    __syncthreads();
    if (thread() < 32) {
      const int lane = thread() % kPanel;  // its number of the block
      double x = y[first + lane];
#pragma unroll
      for (int w = 0; w < kThreads / 32; ++w) x -= panel_[w * kPanel + lane];
      const double inverse = 1.0 / at(first + lane, first + lane);
      double below[kPanel];
#pragma unroll
      for (int c = 0; c < kPanel; ++c) {
        below[c] = c > lane ? inverse * at(first + c, first + lane) : 0.0;
      }
      x *= inverse;
#pragma unroll
      for (int c = kPanel - 1; c > 0; --c) x -= below[c] * of_lane(x, c);
      if (thread() < kPanel) y[first + lane] = x;
    }
    __syncthreads();
  }

  double* matrix_;
  int columns_;
  int side_;
  double* panel_;
};

}  // namespace likewise::cuda
