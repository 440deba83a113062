// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sgd/setup.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/row_counts.h"
#include "core/linalg/exact_dot.h"
#include "core/random.h"
#include "core/rounding.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kBlock = Offset{1} << 16;
/// Of values that are all alike: a spread that steps can be divided by, and the first factors
/// small.
constexpr double kSmallestScale = 1e-6;

/// sum over i in [0, n) of term(i), the same for any number of threads.
template <class Term>
[[nodiscard]] double sum_over(Offset n, const Term& term, Offset terms = kBlock) {
  std::vector<double> sums(static_cast<std::size_t>((n + terms - 1) / terms));
  parallel_blocks(n, terms, [&](Offset begin, Offset end, Offset block) {
    double sum = 0.0;
    for (Offset i = begin; i < end; ++i) sum += term(i);
    sums[static_cast<std::size_t>(block)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void draw_row(std::span<float> row, double stddev, std::uint64_t seed, RandomStream stream,
              Index number) {
  CounterRandom random(seed, stream, static_cast<std::uint64_t>(number));
  for (float& x : row) x = static_cast<float>(stddev * random.normal());
}

void take_sizes(std::span<float> numbers) {
  for (float& x : numbers) x = std::abs(x);
}

Matrix draw_rows(std::span<const Offset> counts, int factors, double stddev, std::uint64_t seed,
                 RandomStream stream) {
  const auto rows = static_cast<Index>(counts.size());
  Matrix drawn(rows, factors);
  parallel_for(rows, 256, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    if (counts[static_cast<std::size_t>(r)] == 0) return;
    draw_row(drawn.row_span(row), stddev, seed, stream, row);
  });
  return drawn;
}

ValueSpread value_spread(const CsrView& by_user, const SgdParams& params) {
  const Offset n = by_user.nnz();
  if (n == 0) return {};
  const auto count = static_cast<double>(n);
  if (params.loss == SgdLoss::kLogistic) {
    const double likes =
        sum_over(n, [&](Offset i) { return by_user.values[i] > 0.0F ? 1.0 : 0.0; });
    if (likes == 0.0 || likes == count) {
      throw Error(ErrorKind::kBadData,
                  std::string("loss logistic tells likes (values above 0) from dislikes, and all "
                              "values here are ") +
                      (likes == 0.0 ? "dislikes" : "likes") +
                      ": give both, or take the squared loss");
    }
    return {std::log(likes / (count - likes)), 1.0};
  }
  const double mean = sum_over(n, [&](Offset i) { return double{by_user.values[i]}; }) / count;
  const double variance = sum_over(n,
                                   [&](Offset i) {
                                     const double off = by_user.values[i] - mean;
                                     return off * off;
                                   }) /
                          count;
  const double spread = std::sqrt(variance);
  const double square = variance + mean * mean;
  const bool alike = is_constant(variance, square) || spread < kSmallestSpread;
  return {mean, alike ? std::clamp(std::sqrt(square), kSmallestScale, 1.0) : spread};
}

std::vector<Offset> entry_counts(const CsrView& by_user, Side side) {
  return side == Side::kUsers ? row_counts(by_user) : column_counts(by_user);
}

Factors first_sgd_factors(const CsrView& by_user, const SgdParams& params) {
  const ValueSpread values = value_spread(by_user, params);
  const double stddev = params.init_stddev * std::sqrt(values.spread / params.factors);
  Factors first;
  first.users = draw_rows(entry_counts(by_user, Side::kUsers), params.factors, stddev, params.seed,
                          kStreamUserFactors);
  first.items = draw_rows(entry_counts(by_user, Side::kItems), params.factors, stddev, params.seed,
                          kStreamItemFactors);
  first.global_mean = static_cast<float>(values.mean);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Index rows = first.side(side).rows();
    if (params.nonnegative) {
      for (Index row = 0; row < rows; ++row) take_sizes(first.side(side).row_span(row));
    }
    if (params.biases) first.bias(side) = Array<float>(rows);
    if (is_adaptive(params)) first.squares(side) = Array<float>(rows);
  }
  return first;
}

double objective_of_first(const CsrView& by_user, const SgdParams& params,
                          const ValueSpread& values) {
  const auto n = static_cast<double>(by_user.nnz());
  const double spread = values.spread;
  // Of a row that is drawn |x|^2 is spread times this, on average.
  const double drawn = params.init_stddev * params.init_stddev;
  double objective = params.loss == SgdLoss::kLogistic
                         ? 2.0 * n * (std::log(2.0) + drawn)
                         : n * spread * spread * (1.0 + drawn * drawn / params.factors);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const std::vector<Offset> counts = entry_counts(by_user, side);
    objective += sum_over(std::ssize(counts), [&](Offset row) {
      const Offset count = counts[static_cast<std::size_t>(row)];
      return static_cast<double>(count) * drawn * spread *
             rating_decay(params.regularization, params.regularization_exponent, count);
    });
  }
  return objective;
}

double objective_of(const CsrView& by_user, const SgdParams& params, const Factors& factors,
                    const SgdWhole& whole) {
  const auto bias = [&](Side side, Index row) {
    return params.biases ? double{factors.bias(side)[row]} : 0.0;
  };
  constexpr Offset kRows = 256;  // that one task sums
  const auto losses_of = [&](Offset at) {
    const auto user = static_cast<Index>(at);
    const double own = double{factors.global_mean} + bias(Side::kUsers, user);
    const auto items = by_user.row_columns(user);
    const auto values = by_user.row_values(user);
    double losses = 0.0;
    const auto add = [&](std::size_t e, double product) {
      const double score = own + bias(Side::kItems, items[e]) + product;
      const double off = values[e] - score;
      const double margin = values[e] > 0.0F ? score : -score;
      losses += params.loss == SgdLoss::kLogistic
                    ? 2.0 * (std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0))
                    : off * off;
    };
    kernels::for_exact_dots(factors.users.row(user), factors.items.view(), items, add);
    return losses;
  };
  double objective = sum_over(by_user.rows, losses_of, kRows);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const std::span<const Offset> counts = whole.counts(side);
    const MatrixView rows = factors.side(side).view();
    const auto penalty_of = [&](Offset at) {
      const auto row = static_cast<Index>(at);
      const Offset count = counts[static_cast<std::size_t>(row)];
      const auto term = [&](double lambda, double square) {
        return static_cast<double>(count) * square *
               rating_decay(lambda, params.regularization_exponent, count);
      };
      const double b = bias(side, row);
      return term(params.regularization, kernels::exact_square(rows, row)) +
             term(bias_lambda(params), b * b);
    };
    objective += sum_over(rows.rows, penalty_of, kRows);
  }
  return objective;
}

void require_no_divergence(double objective, double of_nothing, std::string_view what,
                           double rate) {
  constexpr double kMuchWorse = 10.0;
  if (objective <= kMuchWorse * of_nothing) return;
  throw Error(
      ErrorKind::kNumerical,
      fmt::format("{} diverged with learning rate {:g}: its objective is {:.3g}, and that of "
                  "factors that know nothing {:.3g}; take a smaller {} or {}, or another {}",
                  what, rate, std::abs(objective), of_nothing, mention("learning_rate"),
                  mention("init_stddev"), mention("regularization")));
}

double epoch_rate(const SgdParams& params, std::span<const Iteration> done) {
  switch (params.schedule) {
    case SgdSchedule::kAdaptive:
    case SgdSchedule::kConstant:
      return params.learning_rate;
    case SgdSchedule::kInverse:
      return params.learning_rate / (1.0 + params.decay * static_cast<double>(done.size()));
    case SgdSchedule::kBold:
      break;
  }
  double rate = params.learning_rate;
  for (std::size_t t = 1; t < done.size(); ++t) {
    rate *= done[t].objective > done[t - 1].objective ? 0.5 : 1.05;
  }
  return rate;
}

double rating_decay(double lambda, double exponent, Offset count) {
  return count == 0 ? 0.0 : lambda * std::pow(static_cast<double>(count), exponent - 1.0);
}

}  // namespace likewise
