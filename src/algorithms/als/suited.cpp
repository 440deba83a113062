// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/suited.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "algorithms/row_counts.h"

namespace likewise {
namespace {

/// The constants of math.md, "Values that suit the data", as they stand there.
constexpr double kMissingShare = 8.0;
constexpr double kShrinkage = 0.05;
constexpr double kShortHistories = 6.0;
constexpr double kEvenItems = 5000.0;
constexpr double kFewItems = 400.0;
constexpr int kEvenFactors = 256;
constexpr double kFullShrinkageFactors = 64.0;
constexpr double kLeastOfEven = 0.5;

/// s of the rule: 1 where so many items are popular as of films, 0 where all are or next to none.
[[nodiscard]] double share_of_films(double even) {
  return std::min(1.0, even / kFewItems) * std::max(0.0, 1.0 - even / kEvenItems);
}

/// e of the rule: where many items are equally popular, less shrinkage the more factors there are.
[[nodiscard]] double factor_of_even(const PopularitySpread& spread, double of_user, int factors) {
  if (!spread.is_of_many() || of_user >= kLongHistory) return 1.0;
  if (spread.is_flat()) return kLeastOfEven;
  return std::clamp(std::sqrt(kFullShrinkageFactors / factors), kLeastOfEven, 1.0);
}

/// So many digits that a user can give the same again.
[[nodiscard]] double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

/// sum over the rows of (count + w0 * rows of the other side)^nu
[[nodiscard]] double sum_of_powers(const std::vector<Offset>& counts, double missing, double nu) {
  double sum = 0.0;
  for (const Offset count : counts) sum += std::pow(static_cast<double>(count) + missing, nu);
  return sum;
}

}  // namespace

AlsParams suited(const CsrView& by_user, AlsParams params, const AlsGiven& given) {
  if (params.feedback == Feedback::kExplicit || given.hu) return params;
  const SideCounts users = of_side(row_counts(by_user), by_user.nnz());
  const SideCounts items = of_side(column_counts(by_user), by_user.nnz());
  const PopularitySpread spread = spread_of(items.counts);

  if (!given.factors && spread.is_of_many()) params.factors = kEvenFactors;
  // w0 = 8 d  with  d = entries / (m n)
  const double missing_share = kMissingShare * users.mean / items.rows;
  if (!given.unobserved_weight) params.unobserved_weight = rounded(missing_share);
  if (!given.regularization_exponent) params.regularization_exponent = 1.0;
  if (given.regularization) return params;
  // lambda = 0.05 (1 / sqrt(c_u) + 1 / sqrt(c_i)) (1 + 6 s / c_u) e sqrt(8 d / w0)
  const double w0 = *params.unobserved_weight;
  double lambda = kShrinkage * (1.0 / std::sqrt(users.mean) + 1.0 / std::sqrt(items.mean)) *
                  (1.0 + kShortHistories * share_of_films(spread.even_items) / users.mean) *
                  factor_of_even(spread, users.mean, params.factors) *
                  std::sqrt(missing_share / w0);
  const double nu = params.regularization_exponent;
  if ((nu < 1.0 || counts_likes(params)) && by_user.nnz() > 0) {
    // As much in sum as with nu = 1 and all cells counted.
    const auto sum = [&](double power, double missing) {
      return sum_of_powers(users.counts, missing * static_cast<double>(by_user.cols), power) +
             sum_of_powers(items.counts, missing * static_cast<double>(by_user.rows), power);
    };
    lambda *= sum(1.0, w0) / sum(nu, counts_likes(params) ? 0.0 : w0);
  }
  params.regularization = rounded(lambda);
  return params;
}

}  // namespace likewise
