// SPDX-License-Identifier: Apache-2.0
/// What all devices of SGD start from: first factors, rates, and what regularisation takes of a
/// row.
#pragma once

#include <span>
#include <vector>

#include "core/random.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/iteration.h"
#include "likewise/sgd.h"

namespace likewise {

/// The counts that the memory of a training depends on.
struct SgdShape {
  Index users = 0;
  Index items = 0;
  Offset interactions = 0;
};

/// Mean and standard deviation of the values, as the loss sees them.
struct ValueSpread {
  double mean = 0.0;    ///< logistic: the log-odds of a like
  double spread = 1.0;  ///< 1 where all values are equal, and for the logistic loss
};
/// Throws Error(kBadData) where the logistic loss has likes only, or dislikes only.
[[nodiscard]] ValueSpread value_spread(const CsrView& by_user, const SgdParams& params);

/// Whether rows have sums of squares.
[[nodiscard]] inline bool is_adaptive(const SgdParams& params) {
  return params.schedule == SgdSchedule::kAdaptive;
}

/// Rows of normal(0, stddev) numbers, row r from the stream's row r; those without entries are
/// zero.
[[nodiscard]] Matrix draw_rows(std::span<const Offset> counts, int factors, double stddev,
                               std::uint64_t seed, RandomStream stream);

/// Drawn from the seed; rows without entries are zero.
[[nodiscard]] Factors first_sgd_factors(const CsrView& by_user, const SgdParams& params);

/// The learning rate of the epoch that follows these.
[[nodiscard]] double epoch_rate(const SgdParams& params, std::span<const Iteration> done);

/// lambda of one rating of a row with `count` of them: lambda count^(nu - 1).
[[nodiscard]] double rating_decay(double lambda, double exponent, Offset count);
[[nodiscard]] inline double bias_lambda(const SgdParams& params) {
  return params.bias_regularization.value_or(params.regularization);
}

/// Entries of each row of a side.
[[nodiscard]] std::vector<Offset> entry_counts(const CsrView& by_user, Side side);

/// What the objective has beside the losses: sum over rows of lambda count^nu (|x|^2 + b^2).
[[nodiscard]] double regularization_term(const CsrView& by_user, const SgdParams& params,
                                         const Factors& factors);

/// Scales that turn a rate, which is relative to the values' spread s, into that of a step:
/// factors are of the order of sqrt(s), biases of s.
struct StepScales {
  double rate = 1.0;    ///< of factors: learning_rate / s
  double square = 1.0;  ///< of a gradient's square: 1 / (s^3 f)
};
[[nodiscard]] inline StepScales step_scales(double spread, int factors) {
  return {1.0 / spread, 1.0 / (spread * spread * spread * factors)};
}

}  // namespace likewise
