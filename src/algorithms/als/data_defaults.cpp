// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/data_defaults.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "algorithms/cost.h"
#include "algorithms/row_counts.h"
#include "core/rounding.h"

namespace likewise {
namespace {

/// The constants of math.md, "Values that suit the data", as they stand there.
constexpr double kMissingShare = 8.0;
constexpr double kShrinkage = 0.05;
constexpr double kShortHistories = 6.0;
constexpr double kEvenItems = 5000.0;
constexpr double kFewItems = 400.0;
constexpr int kMostFactors = 512;
constexpr int kLeastFactors = 64;
constexpr double kEntriesOfFactor = 800.0;
/// Ten minutes on two cores.
constexpr double kMostSeconds = 1'200.0;
constexpr double kFullShrinkageFactors = 64.0;
constexpr double kLeastOfEven = 0.5;
constexpr double kShortItems = 3.0;
constexpr double kExponentOfRatings = 0.5;
/// What a regularization may be (params.h).
constexpr double kLeastOfRatings = 1e-12;
constexpr double kMostOfRatings = 1e15;

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

/// 512 where many items are equally popular, else 64 to 512 by the entries; fewer where a training
/// would take too long.
[[nodiscard]] int suited_factors(const SideCounts& users, const SideCounts& items,
                                 const PopularitySpread& spread, int iterations) {
  const double entries = users.mean * users.rows;
  const double wanted = spread.is_of_many() ? kMostFactors : entries / kEntriesOfFactor;
  int factors = kMostFactors;
  const auto is_too_many = [&] {
    const double seconds = iterations * als_seconds(users.rows + items.rows, entries, factors);
    return factors > wanted || seconds > kMostSeconds;
  };
  while (factors > kLeastFactors && is_too_many()) factors /= 2;
  return factors;
}

/// So many digits that a user can give the same again.
[[nodiscard]] double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

/// sum over the rows of (count + w0 * rows of the other side)^nu
[[nodiscard]] double sum_of_powers(const std::vector<Offset>& counts, double missing, double nu) {
  double sum = 0.0;
  for (const Offset count : counts) sum += std::pow(static_cast<double>(count) + missing, nu);
  return sum;
}

/// The mean of term(r) over the values.
template <class Term>
[[nodiscard]] double mean_of_values(const CsrView& by_user, const Term& term) {
  double sum = 0.0;
  for (Offset e = 0; e < by_user.nnz(); ++e) sum += term(double{by_user.values[e]});
  return sum / static_cast<double>(std::max<Offset>(1, by_user.nnz()));
}

/// sqrt(mean of (r - mu)^2) of the values; 1 where they are all alike except for rounding.
[[nodiscard]] double spread_of_values(const CsrView& by_user) {
  const double mean = mean_of_values(by_user, [](double r) { return r; });
  const double variance =
      mean_of_values(by_user, [mean](double r) { return (r - mean) * (r - mean); });
  const double spread = std::sqrt(variance);
  return is_constant(variance, variance + mean * mean) || spread < kSmallestSpread ? 1.0 : spread;
}

/// Without biases sqrt(mean of |r|): rows as long as their products are to be. From much shorter or
/// longer ones the two sides take many iterations to share the length. First nonnegative factors
/// are sizes of normal numbers, and a product of two such rows is init_stddev^2 2 / pi in the mean:
/// that is to be the mean of |r|.
[[nodiscard]] double suited_init_stddev(const CsrView& by_user, const AlsParams& params) {
  const double size = mean_of_values(by_user, [](double r) { return std::abs(r); });
  if (!(size > 0.0)) return params.init_stddev;
  return rounded(std::sqrt(params.nonnegative ? std::numbers::pi / 2.0 * size : size));
}

/// nu = 1/2 and lambda = s (1 + 6 / c_u + 3 / c_i), of another nu as much in sum.
[[nodiscard]] AlsParams suited_to_ratings(const CsrView& by_user, AlsParams params,
                                          const AlsGiven& given) {
  if (!params.biases && !given.init_stddev) {
    params.init_stddev = suited_init_stddev(by_user, params);
  }
  if (given.regularization) return params;
  if (!given.regularization_exponent) params.regularization_exponent = kExponentOfRatings;
  RowCounts counts = counts_of_rows_with_entries(by_user);
  const SideCounts users = of_side(std::move(counts.of_users), by_user.nnz());
  const SideCounts items = of_side(std::move(counts.of_items), by_user.nnz());
  const auto sum = [&](double power) {
    return sum_of_powers(users.counts, 0.0, power) + sum_of_powers(items.counts, 0.0, power);
  };
  double lambda =
      spread_of_values(by_user) * (1.0 + kShortHistories / users.mean + kShortItems / items.mean);
  if (params.regularization_exponent != kExponentOfRatings && by_user.nnz() > 0) {
    lambda *= sum(kExponentOfRatings) / sum(params.regularization_exponent);
  }
  params.regularization = rounded(std::clamp(lambda, kLeastOfRatings, kMostOfRatings));
  return params;
}

}  // namespace

AlsParams data_defaults(const CsrView& by_user, AlsParams params, const AlsGiven& given) {
  if (params.feedback == Feedback::kExplicit) return suited_to_ratings(by_user, params, given);
  if (given.hu) return params;
  RowCounts counts = counts_of_rows_with_entries(by_user);
  const SideCounts users = of_side(std::move(counts.of_users), by_user.nnz());
  const SideCounts items = of_side(std::move(counts.of_items), by_user.nnz());
  const PopularitySpread spread = spread_of(items.counts);

  if (!given.factors) params.factors = suited_factors(users, items, spread, params.iterations);
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
      return sum_of_powers(users.counts, missing * items.rows, power) +
             sum_of_powers(items.counts, missing * users.rows, power);
    };
    lambda *= sum(1.0, w0) / sum(nu, counts_likes(params) ? 0.0 : w0);
  }
  params.regularization = rounded(lambda);
  return params;
}

}  // namespace likewise
