// SPDX-License-Identifier: Apache-2.0
/// Preconditioned conjugate gradients (Hestenes, Stiefel 1952) for one row of an ALS half-step,
///
///     (diag(diagonal) + V^T W V) z = V^T v,   preconditioner diag(1 / inverse),
///
/// written as steps between passes over the row's interactions, so that one row can be solved alone
/// or many in lockstep.
#pragma once

#include "backends/cpu/kernels/als_passes.h"
#include "backends/cpu/kernels/als_vectors.h"
#include "likewise/types.h"

namespace likewise {

struct CgLimits {
  int steps = 0;  ///< at most
  /// Stop when another step would lower the row's objective o, constant + z^T A z - 2 b^T z, by
  /// less than this share of o (o / constant)^1/2; 0 = off. The error of a row changes the next
  /// half-step's objective by the geometric mean of that error and of the gain there, relative to
  /// the constant: the closer the fit, the larger a share of o that is.
  double decrease = 0.0;
  /// Stop when the preconditioned residual fell to this share of the first one; 0 = off.
  double residual = 0.0;
};

/// The vectors of one row, `stride` floats each (kernels/als_vectors.h).
struct CgVectors {
  const float* diagonal = nullptr;
  const float* inverse = nullptr;
  float* z = nullptr;  ///< start in, solution out
  float* r = nullptr;
  float* p = nullptr;
  float* product = nullptr;
  Index stride = 0;
};

/// Use: begin(); r += the segments' residual; start(sums, constant); then while (!done()):
/// before_product(); product += the segments' product, or, when last(), only their curvature;
/// after_product(curvature).
class ConjugateGradients {
 public:
  ConjugateGradients() = default;
  ConjugateGradients(const CgVectors& vectors, const CgLimits& limits)
      : x_(vectors), limits_(limits) {}

  [[nodiscard]] const CgVectors& vectors() const { return x_; }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool last() const { return last_; }
  /// False after a direction with p^T A p <= 0 or a number that is not finite.
  [[nodiscard]] bool positive() const { return positive_; }
  /// constant + z^T A z - 2 b^T z.
  [[nodiscard]] double objective() const { return objective_; }

  void begin();
  void start(const kernels::StartSums& sums, double constant);
  void before_product();
  void after_product(double curvature);

 private:
  /// The least decrease that makes a step worthwhile.
  [[nodiscard]] double unseen() const;

  CgVectors x_;
  CgLimits limits_;
  double own_ = 0.0;  ///< z^T D z, then p^T D p
  double objective_ = 0.0;
  double constant_ = 0.0;
  double rho_ = 0.0;
  double enough_ = 0.0;
  int steps_ = 0;
  bool done_ = false;
  bool last_ = false;
  bool positive_ = true;
};

}  // namespace likewise
