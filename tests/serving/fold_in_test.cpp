// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "likewise/error.h"
#include "serving/least_squares_rows.h"

namespace likewise {
namespace {

struct Case {
  const char* name;
  std::function<void(AlsParams&)> change;
};

/// The row's whole objective, straight from the definitions, for unknowns s = (x[, bias]).
/// Implicit: sum over ALL cells; explicit: over the observed ones.
double objective(const Factors& f, const AlsParams& p, Side side, const FoldInRow& row,
                 const std::vector<double>& s) {
  const Matrix& y = f.side(other(side));
  const auto width = static_cast<std::size_t>(y.cols());
  const double bias = s.size() > width ? s.back() : 0.0;
  const auto dot = [&](Index i) {
    double sum = bias;
    for (std::size_t j = 0; j < width; ++j) sum += s[j] * double{y.row(i)[j]};
    return sum;
  };
  std::vector<double> value(static_cast<std::size_t>(y.rows()), 0.0);
  std::vector<bool> has(value.size(), false);
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    value[static_cast<std::size_t>(row.columns[e])] = row.values.empty() ? 1.0 : row.values[e];
    has[static_cast<std::size_t>(row.columns[e])] = true;
  }
  const double w0 = p.unobserved_weight.value_or(1.0);
  double total = 0.0;
  for (Index i = 0; i < y.rows(); ++i) {
    const double r = value[static_cast<std::size_t>(i)];
    const bool seen = has[static_cast<std::size_t>(i)];
    const double score = dot(i);
    if (p.feedback == Feedback::kExplicit) {
      const Array<float>& b = f.bias(other(side));
      const double base = double{f.global_mean} + (b.empty() ? 0.0 : double{b[i]});
      if (seen) total += (r - base - score) * (r - base - score);
    } else if (p.unobserved_weight) {
      if (r > 0.0) total += (1.0 - score) * (1.0 - score);
      if (r < 0.0) total += score * score;
      total += w0 * score * score;
    } else {
      const double size = std::abs(r);
      double c =
          p.alpha * (p.confidence == Confidence::kLog ? std::log(1.0 + size / p.epsilon) : size);
      if (p.confidence != Confidence::kGiven || !seen) c += 1.0;
      const double preference = r > 0.0 ? 1.0 : 0.0;
      total += c * (preference - score) * (preference - score);
    }
  }
  const double count = static_cast<double>(row.columns.size()) +
                       (p.feedback == Feedback::kImplicit ? w0 * y.rows() : 0.0);
  const double lambda = p.regularization * std::pow(count, p.regularization_exponent);
  for (const double x : s) total += lambda * x * x;
  return total;
}

Factors random_factors(bool biases) {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal(0.0F, 0.5F);
  Factors f{Matrix(25, 6), Matrix(18, 6), {}, {}, 0.0F};
  for (Matrix* m : {&f.users, &f.items}) {
    for (Index r = 0; r < m->rows(); ++r) {
      for (float& x : m->row_span(r)) x = normal(random);
    }
  }
  if (!biases) return f;
  f.user_bias = Array<float>(25);
  f.item_bias = Array<float>(18);
  for (float& x : f.user_bias) x = normal(random);
  for (float& x : f.item_bias) x = normal(random);
  f.global_mean = 3.2F;
  return f;
}

std::vector<std::pair<Case, bool>> cases() {
  return {
      {{"Hu", [](AlsParams& p) { p.alpha = 5.0; }}, false},
      {{"log", [](AlsParams& p) { p.confidence = Confidence::kLog, p.epsilon = 0.3; }}, false},
      {{"given", [](AlsParams& p) { p.confidence = Confidence::kGiven, p.alpha = 3.0; }}, false},
      {{"given below 1", [](AlsParams& p) { p.confidence = Confidence::kGiven, p.alpha = 0.2; }},
       false},
      {{"iALS", [](AlsParams& p) { p.unobserved_weight = 0.1; }}, false},
      {{"iALS nu",
        [](AlsParams& p) { p.unobserved_weight = 0.1, p.regularization_exponent = 0.7; }},
       false},
      {{"explicit", [](AlsParams& p) { p.feedback = Feedback::kExplicit; }}, false},
      {{"explicit biases",
        [](AlsParams& p) { p.feedback = Feedback::kExplicit, p.regularization_exponent = 1.0; }},
       true},
      {{"nonnegative", [](AlsParams& p) { p.nonnegative = true; }}, false},
      {{"nonnegative, biases",
        [](AlsParams& p) { p.nonnegative = true, p.feedback = Feedback::kExplicit; }},
       true},
  };
}

const FoldInRow kRow{{3, 17, 0, 9, 12}, {2.0F, 1.0F, -1.5F, 4.0F, 0.0F}};

TEST(FoldIn, SolutionIsTheMinimumOfTheWrittenObjective) {
  for (const auto& [one, biases] : cases()) {
    AlsParams params;
    params.regularization = 0.2;
    one.change(params);
    const Factors f = random_factors(biases);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      const LeastSquaresRows solver(f, row_weights(params, f.side(other(side)).rows()), side);
      std::vector<double> s = solver.solve(kRow);
      ASSERT_EQ(s.size(), biases ? 7U : 6U);
      const double best = objective(f, params, side, kRow, s);
      for (std::size_t j = 0; j < s.size(); ++j) {
        // Quadratic in every direction: the central difference is the exact derivative, 0 here.
        const double at = s[j];
        s[j] = at + 0.5;
        const double up = objective(f, params, side, kRow, s);
        s[j] = at - 0.5;
        const double down = objective(f, params, side, kRow, s);
        s[j] = at;
        const bool bounded = params.nonnegative && j < 6;
        EXPECT_TRUE(!bounded || at >= 0.0) << one.name << " " << j;
        if (bounded && at == 0.0) {
          EXPECT_GE(up - down, -1e-9 * best) << one.name << " " << j;
        } else {
          EXPECT_NEAR(up - down, 0.0, 1e-9 * best) << one.name << " " << j;
        }
        EXPECT_GT(up + down, 2.0 * best) << one.name << " " << j;
      }
    }
  }
}

/// Rows that training did not see have no missing cells: the row is what it would be if only those
/// in which it has an entry were there.
TEST(FoldIn, RowsThatTrainingDidNotSeeCountWhereTheRowHasThem) {
  const std::vector<Index> unseen{1, 9, 10, 17};  // kRow has 9 and 17
  for (const auto& [one, biases] : cases()) {
    AlsParams params;
    params.regularization = 0.2;
    one.change(params);
    const Factors f = random_factors(biases);
    Factors without = f.clone();
    for (const Index row : {1, 10}) std::ranges::fill(without.items.row_span(row), 0.0F);
    LeastSquaresRows solver(f, row_weights(params, 18 - 4), Side::kUsers);
    solver.leave_out(unseen);
    const LeastSquaresRows expected(without, row_weights(params, 18 - 2), Side::kUsers);
    const std::vector<double> s = solver.solve(kRow);
    const std::vector<double> want = expected.solve(kRow);
    for (std::size_t j = 0; j < s.size(); ++j) EXPECT_NEAR(s[j], want[j], 1e-9) << one.name;
    EXPECT_NEAR(solver.explain(kRow, 9).score, expected.explain(kRow, 9).score, 1e-9) << one.name;
  }
}

TEST(FoldIn, ExplanationsSumToTheScore) {
  for (const auto& [one, biases] : cases()) {
    AlsParams params;
    params.regularization = 0.2;
    one.change(params);
    const Factors f = random_factors(biases);
    const LeastSquaresRows solver(f, row_weights(params, f.items.rows()), Side::kUsers);
    const std::vector<double> s = solver.solve(kRow);
    for (const Index item : {0, 5, 17}) {
      const Explanation why = solver.explain(kRow, item);
      double want = biases ? double{f.global_mean} + double{f.item_bias[item]} + s.back() : 0.0;
      for (std::size_t j = 0; j < 6; ++j) want += s[j] * double{f.items.row(item)[j]};
      EXPECT_NEAR(why.score, want, 1e-10) << one.name;
      double sum = why.baseline;
      for (std::size_t c = 0; c < why.contributions.size(); ++c) {
        sum += why.contributions[c].share;
        if (c > 0) {
          EXPECT_GE(why.contributions[c - 1].share, why.contributions[c].share);
        }
      }
      EXPECT_NEAR(sum, why.score, 1e-12);
      EXPECT_EQ(why.contributions.size(), 5U);
    }
  }
}

TEST(FoldIn, EmptyRowsAreZeroAndMissingValuesAreOnes) {
  AlsParams params;
  const Factors f = random_factors(true);
  params.feedback = Feedback::kExplicit;
  params.regularization_exponent = 1.0;
  const LeastSquaresRows solver(f, row_weights(params, f.items.rows()), Side::kUsers);
  for (const double x : solver.solve({})) EXPECT_EQ(x, 0.0);
  const Explanation why = solver.explain({}, 4);
  EXPECT_EQ(why.score, why.baseline);
  EXPECT_FLOAT_EQ(static_cast<float>(why.baseline), f.global_mean + f.item_bias[4]);
  EXPECT_EQ(solver.solve({{1, 2}, {}}), solver.solve({{1, 2}, {1.0F, 1.0F}}));
}

TEST(FoldIn, ASingularSystemIsAnErrorNotANumber) {
  AlsParams params;
  params.feedback = Feedback::kExplicit;
  params.regularization = 0.0;
  const Factors f = random_factors(false);
  const LeastSquaresRows solver(f, row_weights(params, f.items.rows()), Side::kUsers);
  try {
    (void)solver.solve({{1, 2}, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
    EXPECT_NE(std::string(error.what()).find("2 entries"), std::string::npos);
  }
}

}  // namespace
}  // namespace likewise
