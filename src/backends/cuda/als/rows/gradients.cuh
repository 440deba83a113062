// SPDX-License-Identifier: Apache-2.0
/// Conjugate gradients for one row on the GPU, whatever multiplies with its matrix and however the
/// vectors are spread over threads.
///
/// Vectors have: Lane, the numbers of a thread, kOwn of them; load() and store(); columns(), the
/// length; sum(), a number's sum over the threads that share a vector; writes().
#pragma once

#include "backends/cuda/als/rows/als_rows.h"

namespace likewise::cuda {

/// What the sums over a row's interactions give besides its matrix and right-hand side b.
template <class Number>
struct RowTotals {
  Number constant = 0;  ///< the row's objective at zero
  Number reached = 0;   ///< start^T b, where the first product has b in it
};

template <class Vectors>
__device__ __forceinline__ float dot(const Vectors& on, const typename Vectors::Lane& a,
                                     const typename Vectors::Lane& b) {
  float part = 0.0F;
#pragma unroll
  for (int e = 0; e < Vectors::kOwn; ++e) part = fmaf(a[e], b[e], part);
  return on.sum(part);
}

/// What the row's matrix has besides the sums, and the preconditioner.
template <class Vectors, class Lane = typename Vectors::Lane>
__device__ __forceinline__ void load_diagonals(const Vectors& on, const RowProblem& problem,
                                               Index row, Lane& diagonal, Lane& inverse) {
  const float lambda = __ldg(problem.regularization + row);
  const bool is_explicit = problem.weights.explicit_feedback;
  const float expected =
      is_explicit
          ? static_cast<float>(__ldg(problem.offsets + row + 1) - __ldg(problem.offsets + row))
          : 1.0F;
  const float own = is_explicit ? 0.0F : 1.0F;
  Lane base;
  Lane shrink;
  on.load(base, problem.base);
  on.load(shrink, problem.shrink);
#pragma unroll
  for (int e = 0; e < Vectors::kOwn; ++e) {
    diagonal[e] = fmaf(own, base[e], lambda * shrink[e]);
    // In this basis the identity is diag(shrink).
    const float all =
        problem.limits.plain ? shrink[e] : fmaf(expected, base[e], lambda * shrink[e]);
    inverse[e] = all > 0.0F ? 1.0F / all : 0.0F;
  }
}

/// A row between two products with its matrix.
template <class Vectors>
struct RowState {
  using Lane = typename Vectors::Lane;
  Lane z;                ///< the solution so far
  Lane r;                ///< its residual
  Lane v;                ///< the direction of the next step: what the matrix multiplies
  float rho = 0.0F;      ///< r^T (preconditioner) r
  float enough = 0.0F;   ///< of rho
  double won = 0.0;      ///< how far the objective is below its constant
  bool positive = true;  ///< no sign of a matrix that is not positive definite
  bool samples = false;  ///< a part of the interactions is enough for a last step
  bool last = false;     ///< the next step is foretold to be the last: it needs no residual
};

/// What a row's matrix has besides the sums, and what solves with it.
template <class Vectors>
struct RowDiagonals {
  typename Vectors::Lane diagonal, inverse;
};

template <class Vectors>
__device__ __forceinline__ void set_direction(const Vectors& on, const RowProblem& problem,
                                              const RowDiagonals<Vectors>& row,
                                              RowState<Vectors>& now) {
#pragma unroll
  for (int e = 0; e < Vectors::kOwn; ++e) now.v[e] = row.inverse[e] * now.r[e];
  now.rho = dot(on, now.r, now.v);
  now.enough = fmaxf(problem.limits.residual * problem.limits.residual, 1e-14F) * now.rho;
}

/// From what the solutions hold where the problem is warm, else from zero. With `measure` the first
/// product is with the start, for its residual.
template <class Vectors>
__device__ __forceinline__ void start_row(const Vectors& on, const RowProblem& problem, Index row,
                                          bool measure, const RowDiagonals<Vectors>& diagonals,
                                          RowState<Vectors>& now) {
#pragma unroll
  for (int e = 0; e < Vectors::kOwn; ++e) now.z[e] = 0.0F;
  if (problem.warm) on.load(now.z, problem.solutions + row * on.columns());
  if (measure) {
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) now.v[e] = now.z[e];
  } else {
    set_direction(on, problem, diagonals, now);
  }
}

/// Takes the product of the sums with the direction, which is used up; -1 is the step that measures
/// the start. Returns whether another step is to follow.
template <class Vectors, class Total>
__device__ __forceinline__ bool take_step(const Vectors& on, const RowProblem& problem, int step,
                                          const RowDiagonals<Vectors>& row,
                                          const RowTotals<Total>& totals,
                                          typename Vectors::Lane& product, RowState<Vectors>& now) {
  constexpr int kOwn = Vectors::kOwn;
  const auto unseen = [&] {
    return problem.limits.unseen(static_cast<float>(totals.constant), static_cast<float>(now.won));
  };
#pragma unroll
  for (int e = 0; e < kOwn; ++e) product[e] = fmaf(row.diagonal[e], now.v[e], product[e]);
  if (step < 0) {
    float start = 0.0F;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      start = fmaf(now.z[e], 2.0F * now.r[e] - product[e], start);
      now.r[e] -= product[e];
    }
    now.won = static_cast<double>(on.sum(start)) + totals.reached;
    set_direction(on, problem, row, now);
    // A second step wins mostly less than a quarter of that.
    now.last = now.samples && 0.25F * now.rho <= unseen();
    if (now.rho > unseen()) return true;
    now.positive = now.positive && isfinite(now.rho);
    return false;
  }
  const float curvature = dot(on, now.v, product);
  if (!(curvature > 0.0F) || !isfinite(curvature) || !isfinite(now.rho)) {
    now.positive = false;
    return false;
  }
  const float alpha = __fdividef(now.rho, curvature);
  now.won += static_cast<double>(alpha) * now.rho;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) now.z[e] = fmaf(alpha, now.v[e], now.z[e]);
  if (now.last) return false;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) {
    now.r[e] = fmaf(-alpha, product[e], now.r[e]);
    product[e] = row.inverse[e] * now.r[e];
  }
  const float next = dot(on, now.r, product);
  // The next step wins about its own alpha times next (the CPU's rule).
  const float left = sqrtf(alpha) * next;
  if (!(left > unseen()) || next <= now.enough) return false;
  const float beta = __fdividef(next, now.rho);
  // And the one after it about beta times that.
  now.last = now.samples && left * beta <= unseen();
  now.rho = next;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) now.v[e] = fmaf(beta, now.v[e], product[e]);
  return true;
}

/// What a step wins, where it is too small for float32 to divide by its like: nothing. Factors that
/// a large regularization drives to zero come to that.
inline constexpr float kNothingToWin = 0x1p-100F;

/// Whether the direction leads anywhere.
template <class Vectors>
__device__ __forceinline__ bool leads_on(RowState<Vectors>& now) {
  if (now.rho > kNothingToWin) return true;
  now.positive = now.positive && now.rho >= 0.0F;
  return false;
}

/// Writes the solution and the objective.
template <class Vectors, class Total>
__device__ __forceinline__ void finish_row(const Vectors& on, const RowProblem& problem, Index row,
                                           Total constant, const RowState<Vectors>& now) {
  const bool positive = now.positive && isfinite(constant);
  if (!on.writes()) return;
  if (threadIdx.x == 0) {
    problem.objectives[row] = static_cast<double>(constant) - now.won;
    if (!positive) atomicMin(problem.failed_row, row);
  }
  on.store(problem.solutions + row * on.columns(), now.z);
}

/// Solves (diagonal + S) z = r, where multiply(v, step, product) gives product = S v;
/// preconditioned by the expected diagonal. With `measure` the first call, of step -1, is for the
/// start's residual: it may then give S v - b, set `totals`, and leave r zero. Of a row that
/// `samples` it is multiply(v, step, product, part): with `part` about S v is enough.
template <class Vectors, class Total, class Multiply>
__device__ __forceinline__ void solve_row(const Vectors& on, const RowProblem& problem, Index row,
                                          bool measure, const typename Vectors::Lane& right,
                                          const RowTotals<Total>& totals, Multiply multiply,
                                          bool samples = false) {
  RowDiagonals<Vectors> diagonals;
  load_diagonals(on, problem, row, diagonals.diagonal, diagonals.inverse);
  RowState<Vectors> now;
#pragma unroll
  for (int e = 0; e < Vectors::kOwn; ++e) now.r[e] = right[e];
  now.samples = samples;
  start_row(on, problem, row, measure, diagonals, now);
  // One place multiplies: the code stays small.
  for (int step = measure ? -1 : 0; step < problem.limits.steps; ++step) {
    if (step >= 0 && !leads_on(now)) break;
    typename Vectors::Lane product;
    multiply(now.v, step, product, now.last);
    if (!take_step(on, problem, step, diagonals, totals, product, now)) break;
  }
  finish_row(on, problem, row, totals.constant, now);
}

}  // namespace likewise::cuda
