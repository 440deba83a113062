// SPDX-License-Identifier: Apache-2.0
/// Conjugate gradients for one row on the card, whatever multiplies with its matrix and however the
/// vectors are spread over threads.
///
/// Vectors have: Lane, the numbers of a thread, kOwn of them; load() and store(); columns(), the
/// length; sum(), a number's sum over the threads that share a vector; writes().
#pragma once

#include "backends/cuda/als_rows.h"

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
    const float all = fmaf(expected, base[e], lambda * shrink[e]);
    inverse[e] = all > 0.0F ? 1.0F / all : 0.0F;
  }
}

/// Solves (diagonal + S) z = r, where multiply(v, step, product) gives product = S v;
/// preconditioned by the expected diagonal; from what the solutions hold where the problem is warm,
/// else from zero. With `measure` the first call, of step -1, is for the start's residual: it may
/// then give S v - b, set `totals`, and leave r zero. `r` is used up.
template <class Vectors, class Total, class Multiply, class Lane = typename Vectors::Lane>
__device__ __forceinline__ void solve_row(const Vectors& on, const RowProblem& problem, Index row,
                                          bool measure, Lane& r, const RowTotals<Total>& totals,
                                          Multiply multiply) {
  constexpr int kOwn = Vectors::kOwn;
  float* solution = problem.solutions + row * on.columns();
  Lane diagonal, inverse, v, z, product;
  load_diagonals(on, problem, row, diagonal, inverse);
  float rho = 0.0F;
  float enough = 0.0F;
  double won = 0.0;  // how far the objective is below its constant
  bool positive = true;
  const auto precondition = [&] {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) v[e] = inverse[e] * r[e];
    rho = dot(on, r, v);
    enough = fmaxf(problem.limits.residual * problem.limits.residual, 1e-14F) * rho;
  };
  const auto unseen = [&] {
    const auto constant = static_cast<float>(totals.constant);
    return problem.limits.decrease * fmaxf(constant - static_cast<float>(won), 1e-3F * constant);
  };
#pragma unroll
  for (int e = 0; e < kOwn; ++e) z[e] = 0.0F;
  if (problem.warm) on.load(z, solution);
  if (measure) {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) v[e] = z[e];
  } else {
    precondition();
  }
  // One place multiplies: the code stays small.
  for (int step = measure ? -1 : 0; step < problem.limits.steps; ++step) {
    if (step >= 0 && !(rho > 0.0F)) {
      positive = positive && rho == 0.0F;
      break;
    }
    multiply(v, step, product);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) product[e] = fmaf(diagonal[e], v[e], product[e]);
    if (step < 0) {
      float start = 0.0F;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) {
        start = fmaf(z[e], 2.0F * r[e] - product[e], start);
        r[e] -= product[e];
      }
      won = static_cast<double>(on.sum(start)) + totals.reached;
      precondition();
      if (!(rho > unseen())) {
        positive = positive && isfinite(rho);
        break;
      }
      continue;
    }
    const float curvature = dot(on, v, product);
    if (!(curvature > 0.0F) || !isfinite(curvature) || !isfinite(rho)) {
      positive = false;
      break;
    }
    const float alpha = __fdividef(rho, curvature);
    won += static_cast<double>(alpha) * rho;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      z[e] = fmaf(alpha, v[e], z[e]);
      r[e] = fmaf(-alpha, product[e], r[e]);
      product[e] = inverse[e] * r[e];
    }
    const float next = dot(on, r, product);
    // The next step wins about its own alpha times next (the CPU's rule).
    if (!(sqrtf(alpha) * next > unseen()) || next <= enough) break;
    const float beta = __fdividef(next, rho);
    rho = next;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) v[e] = fmaf(beta, v[e], product[e]);
  }
  positive = positive && isfinite(totals.constant);
  if (!on.writes()) return;
  if (threadIdx.x == 0) {
    problem.objectives[row] = static_cast<double>(totals.constant) - won;
    if (!positive) atomicMin(problem.failed_row, row);
  }
  on.store(solution, z);
}

}  // namespace likewise::cuda
