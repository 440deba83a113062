// SPDX-License-Identifier: Apache-2.0
/// PairFormula::similarity (src/algorithms/similarity.cpp) on a card: the same operations in the
/// same order, each rounded as there, so that the result has the same bits. Only a power other than
/// 1 (`amplification`) comes from another library, which may round the last bit of a double
/// otherwise.
#pragma once

#include "algorithms/similarity.h"
#include "backends/cuda/neighbour_search.h"

namespace likewise::cuda {

/// n^2 times the variance. No fused multiply-add: the host rounds twice.
__device__ __forceinline__ double pair_variance(double n, double sum, double squares) {
  const double value = __dsub_rn(__dmul_rn(n, squares), __dmul_rn(sum, sum));
  return value > 1e-12 * n * squares ? value : 0.0;
}

/// n^2 times the covariance.
__device__ __forceinline__ double pair_covariance(const PairSums& s) {
  const double value = __dsub_rn(__dmul_rn(s.n, s.xy), __dmul_rn(s.x, s.y));
  return value * value > 1e-24 * (s.n * s.xx) * (s.n * s.yy) ? value : 0.0;
}

__device__ __forceinline__ double pair_log_likelihood(const CardFormula& f, double common,
                                                      double x_count, double y_count) {
  const auto term = [&](double k) { return f.x_log_x[static_cast<Index>(k)]; };
  const double x_only = x_count - common;
  const double y_only = y_count - common;
  const double neither = f.columns - x_count - y_only;
  const double cells = term(common) + term(neither) + (term(x_only) + term(y_only));
  const double margins =
      (term(x_count) + term(y_count)) + (term(f.columns - x_count) + term(f.columns - y_count));
  const double ratio = 2.0 * (cells - margins + term(f.columns));
  if (!(ratio > kLogLikelihoodRounding * term(f.columns))) return 0.0;
  return common * f.columns >= x_count * y_count ? ratio : -ratio;
}

/// `y` is the rank of the other row.
__device__ __forceinline__ double plain_similarity(const CardFormula& f, const CardFacts& facts,
                                                   const RowFacts& x, Index y, const PairSums& s) {
  switch (f.form) {
    case PairForm::kDot:
      return s.xy;
    case PairForm::kCosine: {
      const double norms = x.norm * facts.norm[y];
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kCommonCosine: {
      const double norms = sqrt(s.xx * s.yy);
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kPearson: {
      const double spread = pair_variance(s.n, s.x, s.xx) * pair_variance(s.n, s.y, s.yy);
      if (!(spread > 0.0)) return 0.0;
      return pair_covariance(s) / sqrt(spread);
    }
    case PairForm::kMsd:
      return s.n > 0.0 ? 1.0 / (fmax(0.0, s.xx + s.yy - 2.0 * s.xy) / s.n + 1.0) : 0.0;
    case PairForm::kJaccard: {
      const double either = x.count + facts.count[y] - s.xy;
      return either > 0.0 ? s.xy / either : 0.0;
    }
    case PairForm::kLogLikelihood:
      return s.xy > 0.0 ? pair_log_likelihood(f, s.xy, x.count, facts.count[y]) : 0.0;
    case PairForm::kConditional:
      return s.xy > 0.0 ? s.xy / (x.count * facts.damped_count[y]) : 0.0;
  }
  return 0.0;
}

__device__ __forceinline__ float pair_similarity(const CardFormula& f, const CardFacts& facts,
                                                 const RowFacts& x, Index y, const PairSums& s) {
  const double common = f.common_is_product ? s.xy : s.n;
  if (f.counted && common < f.min_support) return 0.0F;
  double value = plain_similarity(f, facts, x, y, s);
  if (f.shrinkage > 0.0) {
    const double free = common - f.lost_degrees;
    value *= free / (free + f.shrinkage);
  }
  if (f.amplification != 1.0) value = copysign(pow(fabs(value), f.amplification), value);
  return value > 0.0 || f.keep_negative ? static_cast<float>(value) : 0.0F;
}

}  // namespace likewise::cuda
