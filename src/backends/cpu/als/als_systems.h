// SPDX-License-Identifier: Apache-2.0
/// Rows of an ALS half-step as systems: summed up from parts of their interactions, in any place,
/// and solved where the sums are.
///
/// In the basis that all share, a row's system is (D + M) z = b with M = sum w y y^T and
/// b = sum v y over its interactions, and its objective is constant + z^T (D + M) z - 2 b^T z. Sums
/// of parts are sums of M, b and the constant. Steps of conjugate gradients on it are those of
/// conjugate_gradients.h, except for rounding.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/als/als_row.h"
#include "core/nonnegative.h"

namespace likewise {

/// Buffers of one thread.
class AlsSystemSum {
 public:
  explicit AlsSystemSum(const AlsRowContext& context);

  /// system = the sums over these interactions: the upper triangle of M, row by row, then b and the
  /// constant; system_numbers(width) numbers. In float32 within 128 interactions, in float64 over
  /// them.
  void sum(std::span<const Index> columns, std::span<const float> values, std::span<double> system);

 private:
  void add_block(const kernels::Segment& block, std::span<double> system);

  AlsRowContext context_;
  SegmentBuffer buffer_;
  Matrix pack_;
  Matrix scaled_;
  Matrix gram_;
  Array<float> right_;
};

/// Buffers of one thread.
class AlsSystemSolver {
 public:
  explicit AlsSystemSolver(const AlsRowContext& context);

  /// As AlsRowSolver::solve(), for a row of interactions with these values.
  [[nodiscard]] double solve(std::span<const double> system, std::span<const float> values,
                             float* z, Index& pivot);

 private:
  void unpack(std::span<const double> system);
  [[nodiscard]] double solve_exactly(double constant, float* z, Index& pivot);
  [[nodiscard]] double solve_nonnegative(double constant, float* z, Index& pivot);
  [[nodiscard]] double solve_cg(double constant, const CgLimits& limits, float* z, Index& pivot);
  /// out += scale M x; returns x^T M x.
  double add_product(const float* x, double scale, float* out) const;

  AlsRowContext context_;
  std::size_t width_;
  std::vector<double> m_;  ///< M, both triangles
  std::vector<double> b_;
  std::vector<double> factored_;
  std::vector<double> solution_;
  Array<float> diagonal_;
  Array<float> inverse_;
  Array<float> r_;
  Array<float> p_;
  Array<float> product_;
  NonnegativeSolver bounded_;
};

/// Rows whose systems are summed and solved in one place. Buffers of one thread.
class AlsSummedRow {
 public:
  explicit AlsSummedRow(const AlsRowContext& context);

  /// As AlsRowSolver::solve().
  [[nodiscard]] double solve(std::span<const Index> columns, std::span<const float> values,
                             float* z, Index& pivot);

 private:
  AlsSystemSum sum_;
  AlsSystemSolver solver_;
  std::vector<double> system_;
};

}  // namespace likewise
