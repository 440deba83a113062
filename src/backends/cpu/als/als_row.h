// SPDX-License-Identifier: Apache-2.0
/// Solves one row of an ALS half-step on the CPU, exactly or by conjugate gradients.
#pragma once

#include <span>

#include "backends/cpu/als/als_fixed_side.h"
#include "backends/cpu/als/conjugate_gradients.h"
#include "backends/cpu/kernels/als_passes.h"
#include "backends/cpu/kernels/als_vectors.h"
#include "likewise/als.h"
#include "likewise/matrix.h"

namespace likewise {

/// What every row of a half-step is solved with.
struct AlsRowContext {
  kernels::StoredRows table;  ///< the rows of the fixed side that columns number, in its basis
  /// What is stored is `scale` times the rows, a power of two. What rows are solved in is therefore
  /// the basis divided by it, and their diagonals are multiplied by its square.
  float scale = 1.0F;
  const AlsBasis& basis;
  const AlsParams& params;
  kernels::Weighing weighing;
  Index fixed_rows = 0;   ///< of the whole fixed side, those that are not in the table included
  bool exact = false;     ///< every row, where rounding lets it
  double accuracy = 0.0;  ///< of kAuto: CgLimits::decrease

  [[nodiscard]] Index stride() const { return table.stride; }
  /// lambda of a row with these values.
  [[nodiscard]] double regularization(std::span<const float> values) const;
  /// Whether kAuto solves such a row exactly where it does not all rows.
  [[nodiscard]] bool is_flat(Offset count, double lambda) const;
  /// Of a row with these values, but 1 at most.
  [[nodiscard]] float least_confidence(std::span<const float> values) const;
  [[nodiscard]] CgLimits cg_limits(float least_confidence) const;
  /// Whether the curvature of a row's last step is taken from a part of its interactions
  /// (math.md, "How the rows are solved").
  [[nodiscard]] bool samples_curvature(Offset count) const;

  /// The row's diagonal and the inverse of its preconditioner.
  ///
  /// Implicit: A = diag(S + lambda) + ..., which is the preconditioner too.
  /// Explicit: A = lambda I + ..., and count S stands for what the ratings will add to it.
  void set_diagonals(double lambda, Offset count, float* diagonal, float* inverse) const;
};

/// Weights of a run of interactions. Buffers grow as needed.
class SegmentBuffer {
 public:
  /// `constant` grows by the sum of the cells' constants.
  [[nodiscard]] kernels::Segment fill(const AlsRowContext& context, const Index* columns,
                                      const float* values, Offset count, double& constant);
  /// Of the run that was filled last, every kSampleStep-th tile from tile `first` on, at the
  /// buffer's begin: what was filled is lost. `count` gets the interactions in it.
  [[nodiscard]] kernels::Segment sample(const kernels::Segment& all, Offset first, Offset& count);

 private:
  Offset count_ = 0;  ///< filled last
  Array<Index> columns_;
  Array<float> w_;
  Array<float> v_;
};

/// Buffers of one thread. Not thread-safe: one per thread.
class AlsRowSolver {
 public:
  explicit AlsRowSolver(const AlsRowContext& context);

  /// Solves for a row's `columns` and `values` with regularisation `lambda`. `z` (padded) holds the
  /// start and gets the solution, both in the fixed side's basis. Returns the row's part of the
  /// objective. Sets `pivot` >= 0 when the system is not positive definite.
  [[nodiscard]] double solve(std::span<const Index> columns, std::span<const float> values,
                             double lambda, float* z, Index& pivot);

 private:
  /// Those of a row.
  struct Cells {
    kernels::Segment segment;
    Offset count = 0;
    double constant = 0.0;
    float least_confidence = 1.0F;
  };
  [[nodiscard]] double solve_cg(const Cells& row, float* z, Index& pivot);
  [[nodiscard]] double last_curvature(const Cells& row);
  [[nodiscard]] double solve_exactly(const Cells& row, float* z, Index& pivot);
  /// Gram matrix and Cholesky: count f^2 + f^3 / 3 operations.
  void solve_gram(const kernels::Segment& s, float* z, Index& pivot);
  /// For weights of 0 and more: the dual system of `count` unknowns: count^2 f + count^3 / 3
  /// operations.
  void solve_dual(const kernels::Segment& s, Offset count, float* z, Index& pivot);

  AlsRowContext context_;
  SegmentBuffer buffer_;
  Array<float> diagonal_;
  Array<float> inverse_;
  Array<float> r_;
  Array<float> p_;
  Array<float> product_;
  Array<float> start_;
  Matrix gram_;
  Matrix pack_;
  Matrix scaled_;
  Array<float> dual_;
  Array<float> roots_;  ///< of the weights
};

}  // namespace likewise
