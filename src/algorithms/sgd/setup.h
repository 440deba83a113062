// SPDX-License-Identifier: Apache-2.0
/// What all devices of SGD start from: first factors, rates, and what regularisation takes of a
/// row.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/host_device.h"
#include "core/random.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/iteration.h"
#include "likewise/matrix.h"
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
  std::optional<double> spread{};  ///< of the values that the model was trained on
  /// Steps that would go beyond the rating they are taken for are shortened (step_reach).
  bool bounded = false;

  [[nodiscard]] std::span<const Offset> counts(Side side) const {
    return side == Side::kUsers ? user_counts : item_counts;
  }
};

/// Mean and standard deviation of the values, as the loss sees them.
struct ValueSpread {
  double mean = 0.0;    ///< logistic: the log-odds of a like
  double spread = 1.0;  ///< logistic: 1; of values alike but for rounding: 1 at most
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
/// Their absolute values.
void take_sizes(std::span<float> numbers);

/// Rows of normal(0, stddev) numbers, row r from the stream's row r; those without entries are
/// zero.
[[nodiscard]] Matrix draw_rows(std::span<const Offset> counts, int factors, double stddev,
                               std::uint64_t seed, RandomStream stream);

/// Drawn from the seed; rows without entries are zero.
[[nodiscard]] Factors first_sgd_factors(const CsrView& by_user, const SgdParams& params);

/// About the objective of the factors that are drawn first: their scores know nothing of the
/// ratings.
[[nodiscard]] double objective_of_first(const CsrView& by_user, const SgdParams& params,
                                        const ValueSpread& values);
/// The objective of any factors.
[[nodiscard]] double objective_of(const CsrView& by_user, const SgdParams& params,
                                  const Factors& factors, const SgdWhole& whole);

/// Throws Error(kNumerical) where the objective of an epoch is no number, or ten times what
/// knowing nothing comes to and more. `what` diverged: "epoch 3".
void require_no_divergence(double objective, double of_nothing, std::string_view what, double rate);

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

/// What a step adds to its rating's score, as a share of what is missing, were that all it did; of
/// one row of the two: `rate` and `bias_rate` are its own, `other_norm` is |y|^2. Where both rows
/// together reach beyond 1, the step is divided by that: else the next one would begin farther away
/// than this one did.
template <class Number>
[[nodiscard]] LIKEWISE_HOST_DEVICE Number step_reach(Number rate, Number other_norm, Number decay,
                                                     Number bias_rate, Number bias_decay) {
  return rate * (other_norm + decay) + bias_rate * (Number{1} + bias_decay);
}

}  // namespace likewise
