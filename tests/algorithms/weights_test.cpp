// SPDX-License-Identifier: Apache-2.0
#include "algorithms/weights.h"

#include <gtest/gtest.h>

namespace likewise {
namespace {

/// w s^2 - 2 v s + constant + w0 s^2, the whole cost of an observed cell.
double cost(const AlsParams& params, double r, double s) {
  const CellWeights cell = cell_weights(params, r);
  return cell.w * s * s - 2.0 * cell.v * s + cell.constant + missing_weight(params) * s * s;
}

TEST(Weights, HuIsConfidenceTimesSquaredError) {
  AlsParams params{.alpha = 3.0, .epsilon = 0.5};
  for (const Confidence kind : {Confidence::kLinear, Confidence::kLog}) {
    params.confidence = kind;
    for (const double s : {-0.5, 0.0, 0.7}) {
      const double c2 = kind == Confidence::kLinear ? 1.0 + 3.0 * 2.0 : 1.0 + 3.0 * std::log(5.0);
      EXPECT_NEAR(cost(params, 2.0, s), c2 * (1.0 - s) * (1.0 - s), 1e-12);
      EXPECT_NEAR(cost(params, -2.0, s), c2 * s * s, 1e-12);
      EXPECT_NEAR(cost(params, 0.0, s), s * s, 1e-12);
    }
  }
}

TEST(Weights, UnobservedWeightAddsToObservedCells) {
  const AlsParams params{.alpha = 3.0, .unobserved_weight = 0.1};
  for (const double s : {-0.5, 0.0, 0.7}) {
    EXPECT_NEAR(cost(params, 2.0, s), (1.0 - s) * (1.0 - s) + 0.1 * s * s, 1e-12);
    EXPECT_NEAR(cost(params, -2.0, s), 1.1 * s * s, 1e-12);
    EXPECT_NEAR(cost(params, 0.0, s), 0.1 * s * s, 1e-12);
  }
}

TEST(Weights, RegularizationOfARow) {
  AlsParams params{.regularization = 0.5};
  EXPECT_DOUBLE_EQ(row_regularization(params, 9, 100), 0.5);
  params.regularization_exponent = 0.5;
  EXPECT_DOUBLE_EQ(row_regularization(params, 44, 100), 6.0);
  params.unobserved_weight = 0.16;
  EXPECT_DOUBLE_EQ(row_regularization(params, 9, 100), 2.5);
  params.feedback = Feedback::kExplicit;
  EXPECT_DOUBLE_EQ(row_regularization(params, 9, 100), 1.5);
  EXPECT_DOUBLE_EQ(row_regularization(params, 0, 100), 0.0);
}

}  // namespace
}  // namespace likewise
