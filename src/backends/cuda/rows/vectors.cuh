// SPDX-License-Identifier: Apache-2.0
/// Conjugate gradients for one row on the card, whatever multiplies with its matrix.
#pragma once

#include "backends/cuda/als_rows.h"
#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

/// What a row's weights w and v are divided by before they are rounded: they are then at most 1.
/// For w a power of two.
struct RowBounds {
  float w = 1.0F;
  float v = 1.0F;
  __device__ __forceinline__ RowBounds(const RowProblem& problem, Index row) {
    const RowWeights& how = problem.weights;
    if (how.explicit_feedback) {
      v = how.target_scale;
    } else {
      w = __ldg(problem.largest + row);
      v = fmaf(how.slope, w, how.like);
    }
  }
};

/// Vectors of kPadded numbers over the lanes of a warp: lane l has kOwn neighbours from l kOwn on.
/// Where several warps solve a row, each has the whole of every vector and does the same.
template <int kPadded>
struct RowVectors {
  static constexpr int kOwn = 2 * ((kPadded + 63) / 64);
  using Lane = float[kOwn];

  static __device__ __forceinline__ void load(Lane& to, const float* from, int lane) {
#pragma unroll
    for (int e = 0; e < kOwn; e += 2) {
      float2 pair = make_float2(0.0F, 0.0F);
      if (lane * kOwn + e < kPadded) {
        pair = *reinterpret_cast<const float2*>(from + lane * kOwn + e);
      }
      to[e] = pair.x;
      to[e + 1] = pair.y;
    }
  }
  static __device__ __forceinline__ void store(float* to, const Lane& from, int lane) {
#pragma unroll
    for (int e = 0; e < kOwn; e += 2) {
      if (lane * kOwn + e < kPadded) {
        *reinterpret_cast<float2*>(to + lane * kOwn + e) = make_float2(from[e], from[e + 1]);
      }
    }
  }
  static __device__ __forceinline__ float dot(const Lane& a, const Lane& b) {
    float sum = 0.0F;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sum = fmaf(a[e], b[e], sum);
    return warp_sum(sum);
  }

  /// What the row's matrix has besides the sums, and the preconditioner.
  static __device__ __forceinline__ void diagonals(const RowProblem& problem, Index row, int lane,
                                                   Lane& diagonal, Lane& inverse) {
    const float lambda = __ldg(problem.regularization + row);
    const bool is_explicit = problem.weights.explicit_feedback;
    const float expected =
        is_explicit
            ? static_cast<float>(__ldg(problem.offsets + row + 1) - __ldg(problem.offsets + row))
            : 1.0F;
    const float own = is_explicit ? 0.0F : 1.0F;
    Lane base;
    Lane shrink;
    load(base, problem.base, lane);
    load(shrink, problem.shrink, lane);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      diagonal[e] = fmaf(own, base[e], lambda * shrink[e]);
      const float all = fmaf(expected, base[e], lambda * shrink[e]);
      inverse[e] = all > 0.0F ? 1.0F / all : 0.0F;
    }
  }

  /// Solves (diagonal + S) z = r, where multiply(v, turn, product) gives product = S v; turns
  /// alternate between 0 and 1. Preconditioned by the expected diagonal; from zero, or from what
  /// the solutions hold. `r` is used up; the first warp writes the solution.
  template <class Total, class Multiply>
  static __device__ __forceinline__ void solve(const RowProblem& problem, Index row, Lane& r,
                                               Total constant, Multiply multiply) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float* solution = problem.solutions + Offset{row} * kPadded;
    Lane diagonal, inverse, v, z, product;
    diagonals(problem, row, lane, diagonal, inverse);
    float rho = 0.0F;
    float enough = 0.0F;
    double won = 0.0;  // how far the objective is below its constant
    bool positive = isfinite(constant);
    const auto precondition = [&] {
#pragma unroll
      for (int e = 0; e < kOwn; ++e) v[e] = inverse[e] * r[e];
      rho = dot(r, v);
      enough = fmaxf(problem.limits.residual * problem.limits.residual, 1e-14F) * rho;
    };
    const auto unseen = [&] {
      return problem.limits.decrease * fmaxf(static_cast<float>(constant) - static_cast<float>(won),
                                             1e-3F * static_cast<float>(constant));
    };
    if (problem.warm) {
      load(z, solution, lane);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) v[e] = z[e];
    } else {
#pragma unroll
      for (int e = 0; e < kOwn; ++e) z[e] = 0.0F;
      precondition();
    }
    // Step -1 of a warm start finds the residual. One place multiplies: the code stays small.
    for (int step = problem.warm ? -1 : 0; step < problem.limits.steps; ++step) {
      if (step >= 0 && !(rho > 0.0F)) {
        positive = positive && rho == 0.0F;
        break;
      }
      multiply(v, step & 1, product);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) product[e] = fmaf(diagonal[e], v[e], product[e]);
      if (step < 0) {
        float start = 0.0F;
#pragma unroll
        for (int e = 0; e < kOwn; ++e) {
          start = fmaf(z[e], 2.0F * r[e] - product[e], start);
          r[e] -= product[e];
        }
        won = warp_sum(start);
        precondition();
        if (!(rho > unseen())) {
          positive = positive && isfinite(rho);
          break;
        }
        continue;
      }
      const float curvature = dot(v, product);
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
      const float next = dot(r, product);
      // The next step wins about its own alpha times next (the CPU's rule).
      if (!(sqrtf(alpha) * next > unseen()) || next <= enough) break;
      const float beta = __fdividef(next, rho);
      rho = next;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) v[e] = fmaf(beta, v[e], product[e]);
    }
    if (threadIdx.x >= 32) return;
    if (lane == 0) {
      problem.objectives[row] = static_cast<double>(constant) - won;
      if (!positive) atomicMin(problem.failed_row, row);
    }
    store(solution, z, lane);
  }
};

}  // namespace likewise::cuda
