// SPDX-License-Identifier: Apache-2.0
/// The inverse of a large symmetric positive definite matrix on a GPU, in place: the sweeps of
/// core/linalg/dense_inverse.h by blocks of up to 1024 rows. For block k, D = A_kk:
///
///     A_ij -= A_ki' D^-1 A_kj,   A_kj = D^-1 A_kj,   A_kk = -D^-1      i, j other than k
///
/// n^3 operations, nearly all in products on tensor cores (split_stack.h). What block k + 1 needs
/// of them comes first; then its own D^-1 (in float64) and D^-1 A_kj are made while the rest goes
/// on.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/linalg/cublas.h"
#include "backends/cuda/linalg/split_stack.h"

namespace likewise::cuda {

/// Pivots of matrices whose diagonal is 1: what is no more than this is rounding. Sums on tensor
/// cores lose up to 2^-24 of themselves in each of the 64 steps of a block.
inline constexpr double kLeastGpuPivot = 0x1p-18;

class DenseInverse {
 public:
  static constexpr Index kBlock = 1024;

  /// For matrices of `order` rows, a multiple of 16; `block` a multiple of 32, at most kBlock. All
  /// that it takes of the GPU is taken now.
  explicit DenseInverse(Index order, Index block = kBlock);
  ~DenseInverse();
  DenseInverse(const DenseInverse&) = delete;
  DenseInverse& operator=(const DenseInverse&) = delete;

  /// What it takes of the GPU beside the matrix.
  [[nodiscard]] static Offset bytes(Index order, Index block = kBlock);

  /// A = -A^-1 for A (order x order, row-major) with a diagonal of 1. Only the upper triangle
  /// counts; what is below becomes anything. Returns -1, or a row whose pivot is below
  /// kLeastGpuPivot or not finite: the first of its block; A is then lost. Calls between(rows) on
  /// the host while the GPU works on so many rows; it may throw.
  [[nodiscard]] Index run(float* a, const std::function<void(Index)>& between);

 private:
  /// Rows [first, end).
  struct Rows {
    Index first = 0;
    Index end = 0;
    [[nodiscard]] Index count() const { return end - first; }
  };
  /// What a block is multiplied by, and the stream's other one by then.
  struct Panels {
    explicit Panels(Offset numbers)
        : rows(numbers, StackOrder::kLowHighHigh), products(numbers, StackOrder::kHighLowHigh) {}
    SplitStack rows;      ///< A_kj of all j, 0 for j = k
    SplitStack products;  ///< D^-1 A_kj
    DeviceArray<float> factor{1};
  };

  [[nodiscard]] Rows rows_of(Index k) const;
  void prepare(float* a, Index k);
  void invert_pivot(Index k);
  void multiply_by_pivot(Index k);
  void apply(float* a, Index k);
  void update_rest(float* a, Index k, Rows next);
  void update(float* a, Index k, Rows rows, Rows columns);
  [[nodiscard]] Index bad_row(Index k) const;

  Index order_;
  Index block_;
  Index blocks_;
  Stream main_;
  Stream ahead_;
  Multiplier multiplier_;
  Multiplier ahead_multiplier_;
  std::vector<Event> ready_;  ///< a block's panels are there
  Event reached_;             ///< the next block's rows are up to date
  std::array<Panels, 2> panels_;
  DeviceArray<float> panel_;
  DeviceArray<double> pivot_;
  DeviceArray<double> pivot_panel_;
  DeviceArray<float> lower_;       ///< L^-1 of D = L L'
  DeviceArray<float> transposed_;  ///< L^-T
  DeviceArray<float> unused_;
  DeviceArray<float> inverse_;  ///< D^-1
  SplitStack inverse_stack_;
  DeviceArray<float> inverse_factor_{1};
  DeviceArray<float> constants_;
  DeviceArray<int> status_;
  PinnedArray<int> host_status_;
};

}  // namespace likewise::cuda
