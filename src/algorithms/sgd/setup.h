// SPDX-License-Identifier: Apache-2.0
/// What all devices of SGD start from: first factors, rates, and what regularisation takes of a
/// row.
#pragma once

#include <optional>
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

/// What a matrix that is part of a larger one does not say itself, for steps that go on with a
/// model. Empty: the matrix is all there is.
struct SgdWhole {
  std::span<const Offset> user_counts{};  ///< entries of each row in the whole
  std::span<const Offset> item_counts{};
  std::optional<double> spread{};  ///< of the whole's values

  [[nodiscard]] std::span<const Offset> counts(Side side) const {
    return side == Side::kUsers ? user_counts : item_counts;
  }
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

/// A row of normal(0, stddev) numbers: row `number` of the stream.
void draw_row(std::span<float> row, double stddev, std::uint64_t seed, RandomStream stream,
              Index number);

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
