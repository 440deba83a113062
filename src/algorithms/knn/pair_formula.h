// SPDX-License-Identifier: Apache-2.0
/// From what two rows have in common to their similarity: the only text of the formulas
/// (math.md), for the processor and for GPUs, in double precision, rounded as
/// core/host_device.h says, and once more to float32 at the end. So all devices give the same bits,
/// but for `amplification` other than 1: a power comes from a library.
#pragma once

#include <cmath>

#include "core/host_device.h"
#include "core/rounding.h"
#include "likewise/types.h"

namespace likewise {

/// Sums over the columns that rows x and y have in common, of their weights a (of x) and b (of y).
/// In double precision, columns rising.
struct PairSums {
  double n = 0.0;   ///< how many
  double x = 0.0;   ///< a
  double y = 0.0;   ///< b
  double xx = 0.0;  ///< a^2
  double yy = 0.0;  ///< b^2
  double xy = 0.0;  ///< a b
};

/// The statistics of a row that formulas use.
struct RowStats {
  double norm = 0.0;   ///< square root of the sum of squared weights
  double count = 0.0;  ///< entries
  /// How far rounding has moved the weights, at most: the length of that over the whole row, or for
  /// formulas over common entries the distance of one weight.
  double noise = 0.0;
  double damped_count = 1.0;  ///< count^damping
};

enum class PairForm {
  kDot,
  kCosine,
  kCommonCosine,  ///< norms over the common entries
  kPearson,
  kMsd,
  kJaccard,
  kLogLikelihood,
  kConditional,
  kRp3,
};

/// What is left of independent rows by rounding is this share of N log N, at most: nine numbers
/// k log k, none above it, each rounded twice and added up in eight additions (2^-53 each), twice.
inline constexpr double kLogLikelihoodRounding = 1e-14;

/// A formula as plain numbers.
struct PairNumbers {
  PairForm form = PairForm::kDot;
  bool counted = false;           ///< min_support asks for common entries
  bool common_is_product = true;  ///< whose number is the sum of products, not n
  bool keep_negative = false;
  bool cancels = false;   ///< products have both signs, so that a sum of them may be rounding only
  bool estimates = true;  ///< a cosine is told by estimates of it: no row is mostly rounding
  double min_support = 1.0;
  double shrinkage = 0.0;
  double lost_degrees = 0.0;  ///< of freedom: 1 for Pearson about baselines
  double amplification = 1.0;
  double columns = 0.0;
  const double* x_log_x = nullptr;  ///< k log k for k in [0, columns], for kLogLikelihood
};

/// n^2 times the variance; what is left of equal values by rounding counts as 0.
[[nodiscard]] LIKEWISE_HOST_DEVICE double pair_variance(double n, double sum, double squares) {
  const double value = rounded_product(n, squares) - rounded_product(sum, sum);
  return is_constant(value, n * squares) ? 0.0 : value;
}

/// n^2 times the covariance; what is left of independent values by rounding counts as 0.
[[nodiscard]] LIKEWISE_HOST_DEVICE double pair_covariance(const PairSums& s) {
  const double value = rounded_product(s.n, s.xy) - rounded_product(s.x, s.y);
  return value * value > 1e-24 * (s.n * s.xx) * (s.n * s.yy) ? value : 0.0;
}

/// Whether rounding explains a sum x . y of two rows, which then counts as 0. Of weights that are
/// off by no more than the noise, |dx| and |dy|, it is off by at most
///   |dx| |y| + |x| |dy| + |dx| |dy|   (Cauchy and Schwarz)
/// A row that is no longer than its own noise is similar to none.
[[nodiscard]] LIKEWISE_HOST_DEVICE bool is_noise(double xy, double x_norm, double x_noise,
                                                 double y_norm, double y_noise) {
  const double of_one = rounded_product(x_noise, y_norm) + rounded_product(x_norm, y_noise);
  return std::abs(xy) <= of_one + rounded_product(x_noise, y_noise);
}

/// 2 (sum of k log k over the cells - over the margins + N log N)
[[nodiscard]] LIKEWISE_HOST_DEVICE double pair_log_likelihood(const PairNumbers& f, double common,
                                                              double x_count, double y_count) {
  const auto term = [&](double k) { return f.x_log_x[static_cast<Index>(k)]; };
  const double x_only = x_count - common;
  const double y_only = y_count - common;
  const double neither = f.columns - x_count - y_only;
  // Added up so that x and y can change places without another rounding.
  const double cells = term(common) + term(neither) + (term(x_only) + term(y_only));
  const double margins =
      (term(x_count) + term(y_count)) + (term(f.columns - x_count) + term(f.columns - y_count));
  const double ratio = 2.0 * (cells - margins + term(f.columns));
  if (!(ratio > kLogLikelihoodRounding * term(f.columns))) return 0.0;
  return common * f.columns >= x_count * y_count ? ratio : -ratio;
}

/// `y` tells norm(), count(), damped_count() and noise() of its row when it is asked.
template <class Row>
[[nodiscard]] LIKEWISE_HOST_DEVICE double plain_similarity(const PairNumbers& f, const RowStats& x,
                                                           const Row& y, const PairSums& s) {
  switch (f.form) {
    case PairForm::kDot:
      if (f.cancels && is_noise(s.xy, x.norm, x.noise, y.norm(), y.noise())) return 0.0;
      return s.xy;
    case PairForm::kCosine: {
      if (f.cancels && is_noise(s.xy, x.norm, x.noise, y.norm(), y.noise())) return 0.0;
      const double norms = x.norm * y.norm();
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kCommonCosine: {
      const double root = std::sqrt(s.n);  // of n weights the noise is |(e, ..., e)|
      if (f.cancels && is_noise(s.xy, std::sqrt(s.xx), rounded_product(root, x.noise),
                                std::sqrt(s.yy), rounded_product(root, y.noise()))) {
        return 0.0;
      }
      const double norms = std::sqrt(s.xx * s.yy);
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kPearson: {
      const double x_spread = pair_variance(s.n, s.x, s.xx);
      const double y_spread = pair_variance(s.n, s.y, s.yy);
      const double spread = x_spread * y_spread;
      const double covariance = pair_covariance(s);
      // All is n times what it is of the distances from the means.
      if (!(spread > 0.0) ||
          is_noise(covariance, std::sqrt(x_spread), rounded_product(s.n, x.noise),
                   std::sqrt(y_spread), rounded_product(s.n, y.noise()))) {
        return 0.0;
      }
      return covariance / std::sqrt(spread);
    }
    case PairForm::kMsd: {
      if (!(s.n > 0.0)) return 0.0;
      const double squares = s.xx + s.yy - rounded_product(2.0, s.xy);
      return 1.0 / ((squares > 0.0 ? squares : 0.0) / s.n + 1.0);
    }
    case PairForm::kJaccard: {
      const double either = x.count + y.count() - s.xy;
      return either > 0.0 ? s.xy / either : 0.0;
    }
    case PairForm::kLogLikelihood:
      return s.xy > 0.0 ? pair_log_likelihood(f, s.xy, x.count, y.count()) : 0.0;
    case PairForm::kConditional:
      return s.xy > 0.0 ? s.xy / (x.count * y.damped_count()) : 0.0;
    // a = n_x^-alpha n_c^(-alpha/2), damping beta - alpha:
    //   n_x^-alpha (sum of n_c^-alpha) n_y^-beta
    case PairForm::kRp3:
      return s.xy / y.damped_count();
  }
  return 0.0;
}

/// How similar y is to x; 0 where they are no neighbours.
template <class Row>
[[nodiscard]] LIKEWISE_HOST_DEVICE float pair_similarity(const PairNumbers& f, const RowStats& x,
                                                         const Row& y, const PairSums& s) {
  const double common = f.common_is_product ? s.xy : s.n;
  if (f.counted && common < f.min_support) return 0.0F;
  double value = plain_similarity(f, x, y, s);
  const double free = common - f.lost_degrees;
  if (f.lost_degrees > 0.0 && !(free > 0.0)) return 0.0F;  // one common entry says nothing
  if (f.shrinkage > 0.0) value *= free / (free + f.shrinkage);
  if (f.amplification != 1.0) {
    value = std::copysign(std::pow(std::abs(value), f.amplification), value);
  }
  return value > 0.0 || f.keep_negative ? static_cast<float>(value) : 0.0F;
}

}  // namespace likewise
