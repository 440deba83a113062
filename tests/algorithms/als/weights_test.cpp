// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/weights.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/kernels/als_vectors.h"

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

/// Also where the confidence is below that of a missing cell, and far below.
TEST(Weights, GivenConfidencesAreTheValues) {
  AlsParams params{.confidence = Confidence::kGiven};
  for (const double alpha : {1e-10, 0.1, 0.5, 3.0}) {
    params.alpha = alpha;
    const double c = 2.0 * alpha;
    for (const double s : {-0.5, 0.0, 0.7}) {
      EXPECT_NEAR(cost(params, 2.0, s), c * (1.0 - s) * (1.0 - s), 1e-15 * (1.0 + c));
      EXPECT_NEAR(cost(params, -2.0, s), c * s * s, 1e-15 * (1.0 + c));
      EXPECT_NEAR(cost(params, 0.0, s), 0.0, 1e-15) << "no confidence, no cost";
    }
    EXPECT_EQ(cell_weights(params, 2.0).v, c) << "to the last bit, though w is about -1";
    EXPECT_EQ(cell_weights(params, -2.0).v, 0.0);
    EXPECT_EQ(cell_weights(params, 0.0).v, 0.0);
    EXPECT_EQ(confidence(params, -2.0), c);
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

/// The CPU's kernel is a text of its own: it has the bits of the formulas in float, except for its
/// logarithm.
TEST(Weights, TheKernelsTextAgreesWithTheFormulas) {
  std::vector<float> values{0.0F, -0.0F, 1.0F, -1.0F, 1e-30F, -1e-30F, 3.0e-39F};
  for (int exponent = -40; exponent <= 40; ++exponent) {
    for (const float part : {1.0F, 1.37F, 1.99999988F}) {
      values.push_back(std::ldexp(part, exponent));
      values.push_back(-values.back());
    }
  }
  const auto count = static_cast<Offset>(values.size());
  std::vector<Index> columns(values.size());
  for (std::size_t e = 0; e < columns.size(); ++e) columns[e] = static_cast<Index>(e % 7);
  const std::vector<float> bias{0.25F, -0.1F, 0.0F, 1e-8F, 3.3F, -2.7F, 1e5F};
  std::vector<AlsParams> all;
  for (const double alpha : {1.0, 0.3, 40.0}) {
    all.push_back({.alpha = alpha});
    all.push_back({.alpha = alpha, .confidence = Confidence::kLog, .epsilon = 0.01});
    all.push_back({.alpha = alpha, .confidence = Confidence::kGiven});
  }
  all.push_back({.unobserved_weight = 0.2});
  all.push_back({.feedback = Feedback::kExplicit});
  for (const AlsParams& params : all) {
    kernels::Weighing how = kernels::Weighing::of(params);
    how.mean = 3.1F;
    if (params.feedback == Feedback::kExplicit) how.bias = bias.data();
    const std::size_t room = values.size() + 64;
    std::vector<Index> padded(room);
    std::vector<float> w(room);
    std::vector<float> v(room);
    (void)kernels::weigh(how, columns.data(), values.data(), count, padded.data(), w.data(),
                         v.data());
    const CellForm form = cell_form(params);
    const CellRule<float> rule{form, static_cast<float>(params.alpha),
                               static_cast<float>(params.epsilon)};
    const float slope = like_slope(form);
    for (std::size_t e = 0; e < values.size(); ++e) {
      SCOPED_TRACE(testing::Message()
                   << "form " << static_cast<int>(form) << ", value " << values[e]);
      const float expected = observed_weight(rule, std::abs(values[e]));
      if (form == CellForm::kExplicit) {
        const float lost = bias[static_cast<std::size_t>(columns[e])];
        EXPECT_EQ(v[e], rating_target(values[e], how.mean, lost));
      } else if (form == CellForm::kGiven) {
        EXPECT_EQ(v[e], values[e] > 0.0F ? given_confidence(rule, values[e]) : 0.0F);
      } else {
        EXPECT_EQ(v[e], values[e] > 0.0F ? like_target(slope, w[e]) : 0.0F);
      }
      if (form == CellForm::kLog) {
        // Times 1/epsilon in place of a division, and another logarithm: some roundings of float32.
        EXPECT_NEAR(w[e], expected, 6e-7F * expected);
      } else {
        EXPECT_EQ(w[e], expected);
      }
    }
  }
}

TEST(Weights, LikesAreCountedInPlaceOfCells) {
  AlsParams params{.regularization = 0.5, .regularization_exponent = 1.0};
  const std::vector<float> row{3.0F, -1.0F, 0.0F, 1.0F, 5.0F};
  const std::vector<float> dislikes{-1.0F, 0.0F};
  EXPECT_EQ(counted_entries(params, row), 5);
  EXPECT_DOUBLE_EQ(row_regularization(params, counted_entries(params, row), 95), 50.0);
  params.regularization_count = RegularizationCount::kLikes;
  EXPECT_EQ(counted_entries(params, row), 3);
  EXPECT_EQ(counted_entries(params, dislikes), 1);
  EXPECT_DOUBLE_EQ(row_regularization(params, counted_entries(params, row), 95), 1.5);
  params.feedback = Feedback::kExplicit;
  EXPECT_EQ(counted_entries(params, row), 5);
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
