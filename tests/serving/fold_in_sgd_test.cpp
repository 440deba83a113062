// SPDX-License-Identifier: Apache-2.0
/// New rows of SGD and BPR: the minimum of the objective as it is written down, found again from
/// outside.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "likewise/synthetic.h"
#include "serving/least_squares_rows.h"
#include "serving/logistic_problem.h"
#include "serving/logistic_rows.h"
#include "serving/pairwise_rows.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using test::error_of;
using testing::HasSubstr;

const FoldInRow kRatedRow{{3, 17, 0, 9, 12}, {2.0F, 1.0F, -1.5F, 4.0F, 0.0F}};

Factors random_factors(bool user_biases, bool item_biases) {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal(0.0F, 0.7F);
  Factors f{Matrix(25, 6), Matrix(18, 6), {}, {}, 0.4F};
  for (Matrix* m : {&f.users, &f.items}) {
    for (Index r = 0; r < m->rows(); ++r) {
      for (float& x : m->row_span(r)) x = normal(random);
    }
  }
  if (user_biases) f.user_bias = Array<float>(25);
  if (item_biases) f.item_bias = Array<float>(18);
  for (Array<float>* bias : {&f.user_bias, &f.item_bias}) {
    for (float& x : *bias) x = normal(random);
  }
  return f;
}

CsrMatrix csr(Index rows, Index cols, const std::vector<test::Entry>& entries) {
  return test::make_csr(rows, cols, entries);
}

using Objective = std::function<double(const std::vector<double>& s)>;

/// Central differences of `objective` at s, whose errors are of the order of step^2.
void expect_minimum(const Objective& objective, std::vector<double> s, const std::string& name) {
  const double best = objective(s);
  for (std::size_t j = 0; j < s.size(); ++j) {
    constexpr double kStep = 1e-4;
    const double at = s[j];
    s[j] = at + kStep;
    const double up = objective(s);
    s[j] = at - kStep;
    const double down = objective(s);
    s[j] = at;
    EXPECT_NEAR((up - down) / (2.0 * kStep), 0.0, 1e-7 * (1.0 + best)) << name << " " << j;
    EXPECT_GT(up + down, 2.0 * best) << name << " " << j;
  }
}

double dot(const Factors& f, Side side, Index row, const std::vector<double>& s) {
  const std::span<const float> y = f.side(side).row_span(row);
  double sum = 0.0;
  for (std::size_t j = 0; j < y.size(); ++j) sum += double{y[j]} * s[j];
  return sum;
}

/// A row's part of the objective of SGD (include/likewise/sgd.h), for s = (x[, bias]).
double sgd_objective(const Factors& f, const SgdParams& p, Side side, const FoldInRow& row,
                     const std::vector<double>& s) {
  const auto factors = static_cast<std::size_t>(f.users.cols());
  const Array<float>& biases = f.bias(other(side));
  double total = 0.0;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const Index column = row.columns[e];
    const double score = double{f.global_mean} + (biases.empty() ? 0.0 : double{biases[column]}) +
                         (s.size() > factors ? s.back() : 0.0) + dot(f, other(side), column, s);
    const double r = row.values.empty() ? 1.0 : double{row.values[e]};
    const double like = 1.0 / (1.0 + std::exp(-score));
    total += p.loss == SgdLoss::kSquared ? (r - score) * (r - score)
                                         : -2.0 * std::log(r > 0.0 ? like : 1.0 - like);
  }
  const double size = std::pow(static_cast<double>(row.columns.size()), p.regularization_exponent);
  for (std::size_t j = 0; j < s.size(); ++j) {
    const double lambda =
        j < factors ? p.regularization : p.bias_regularization.value_or(p.regularization);
    total += lambda * size * s[j] * s[j];
  }
  return total;
}

std::unique_ptr<FoldInSolver> solver_of(const Factors& f, const SgdParams& p, Side side) {
  if (p.loss == SgdLoss::kLogistic) return std::make_unique<LogisticRows>(f, p, side);
  return std::make_unique<LeastSquaresRows>(f, row_weights(p), side);
}

TEST(FoldInSgd, SolutionIsTheMinimumOfTheWrittenObjective) {
  for (const SgdLoss loss : {SgdLoss::kSquared, SgdLoss::kLogistic}) {
    for (const bool biases : {false, true}) {
      for (const auto& [lambda, bias_lambda, nu] :
           {std::tuple<double, std::optional<double>, double>{0.3, {}, 0.5},
            {0.02, 1.5, 1.0},
            {2.0, 0.0, 0.0}}) {
        SgdParams params;
        params.loss = loss;
        params.regularization = lambda;
        params.bias_regularization = bias_lambda;
        params.regularization_exponent = nu;
        const Factors f = random_factors(biases, biases);
        for (const Side side : {Side::kUsers, Side::kItems}) {
          const std::vector<double> s = solver_of(f, params, side)->solve(kRatedRow);
          ASSERT_EQ(s.size(), biases ? 7U : 6U);
          expect_minimum(
              [&](const std::vector<double>& at) {
                return sgd_objective(f, params, side, kRatedRow, at);
              },
              s, std::string(kSgdLossNames[static_cast<int>(loss)]));
        }
      }
    }
  }
}

TEST(FoldInSgd, ExplanationsOfTheSquaredLossSumToTheScore) {
  SgdParams params;
  params.bias_regularization = 0.1;
  const Factors f = random_factors(true, true);
  const LeastSquaresRows solver(f, row_weights(params), Side::kUsers);
  const std::vector<double> s = solver.solve(kRatedRow);
  const Explanation why = solver.explain(kRatedRow, 5);
  EXPECT_NEAR(
      why.score,
      double{f.global_mean} + double{f.item_bias[5]} + s.back() + dot(f, Side::kItems, 5, s),
      1e-10);
  double sum = why.baseline;
  for (const Contribution& part : why.contributions) sum += part.share;
  EXPECT_NEAR(sum, why.score, 1e-12);
  params.loss = SgdLoss::kLogistic;
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] { (void)solver_of(f, params, Side::kUsers)->explain(kRatedRow, 5); }),
              HasSubstr("squared loss"));
}

/// Likes on one side of a plane, dislikes on the other: J falls without end unless lambda stops it.
TEST(FoldInSgd, SeparableRowsEndAtTheirRidgeOrInAnError) {
  const Factors f = random_factors(false, false);
  const FoldInRow likes{{1, 2, 3, 4}, {}};
  SgdParams params;
  params.loss = SgdLoss::kLogistic;
  for (const double lambda : {1e-2, 1e-6, 1e-12, 1e-15}) {
    params.regularization = lambda;
    const std::vector<double> s = solver_of(f, params, Side::kUsers)->solve(likes);
    const auto objective = [&](const std::vector<double>& at) {
      return sgd_objective(f, params, Side::kUsers, likes, at);
    };
    if (lambda > 1e-10) expect_minimum(objective, s, "separable");  // else differences are rounding
    for (const Index item : likes.columns) {
      EXPECT_GT(double{f.global_mean} + dot(f, Side::kItems, item, s), lambda < 1e-3 ? 8.0 : 1.0);
    }
  }
  params.regularization = 0.0;
  EXPECT_THAT(error_of(ErrorKind::kNumerical,
                       [&] { (void)solver_of(f, params, Side::kUsers)->solve(likes); }),
              testing::AllOf(HasSubstr("4 entries"), HasSubstr("regularization")));
  // Six likes and six unknowns: the system has an inverse, and the margins no end.
  const FoldInRow more{{1, 2, 3, 4, 5, 6}, {}};
  EXPECT_THAT(error_of(ErrorKind::kNumerical,
                       [&] { (void)solver_of(f, params, Side::kUsers)->solve(more); }),
              HasSubstr("regularization"));
}

TEST(FoldInSgd, ExtremeOffsetsConverge) {
  // The first margins are -60: the curvature there is 1e-26, and a full step is far too long.
  const LogisticProblem problem{1, {1.0, 0.5}, {-60.0, 60.0}, {{0, -1}, {-1, 1}}, {1e-9}, 2};
  const double s = problem.minimum().front();
  const auto slope = [](double x) {
    return -1.0 / (1.0 + std::exp(x - 60.0)) + 0.5 / (1.0 + std::exp(-0.5 * x - 60.0)) + 1e-9 * x;
  };
  EXPECT_NEAR(slope(s), 0.0, 1e-9);
}

/// BPR as include/likewise/bpr.h has it, for a user with these likes and negatives.
double bpr_objective(const Factors& f, const BprParams& p, const std::vector<Index>& likes,
                     const std::vector<Index>& negatives, const std::vector<double>& x) {
  const auto score = [&](Index item) {
    return (f.item_bias.empty() ? 0.0 : double{f.item_bias[item]}) + dot(f, Side::kItems, item, x);
  };
  const std::size_t each = negatives.size() / likes.size();
  double total = 0.0;
  for (std::size_t n = 0; n < negatives.size(); ++n) {
    const double margin = score(likes[n / each]) - score(negatives[n]);
    total += std::log(1.0 + std::exp(-margin)) / static_cast<double>(each);
  }
  for (const double at : x) {
    total += 0.5 * p.regularization * static_cast<double>(likes.size()) * at * at;
  }
  return total;
}

TEST(FoldInBpr, SolutionIsTheMinimumOfTheWrittenObjective) {
  for (const bool biases : {false, true}) {
    for (const BprNegatives kind : {BprNegatives::kUniform, BprNegatives::kPopular}) {
      BprParams params;
      params.regularization = 0.05;
      params.negatives = kind;
      const Factors f = random_factors(false, biases);
      const CsrMatrix history = test::random_csr(25, 18, 4.0);
      const PairwiseRows solver(f, params, history.view());
      const std::vector<Index> likes{3, 9, 17};  // of kRatedRow, what is above 0
      const std::vector<Index> negatives = solver.negatives(likes);
      ASSERT_EQ(negatives.size(), 3U * PairwiseRows::kNegatives);
      expect_minimum(
          [&](const std::vector<double>& x) {
            return bpr_objective(f, params, likes, negatives, x);
          },
          solver.solve(kRatedRow), "bpr");
    }
  }
}

/// 50,000 draws: a share p of them has the deviation sqrt(p (1 - p) / 50,000) < 0.0023; four of it.
TEST(FoldInBpr, NegativesAreDrawnAsInTraining) {
  const CsrMatrix history = csr(4, 8,
                                {{0, 0, 1.0F},
                                 {0, 1, 1.0F},
                                 {0, 2, -1.0F},
                                 {1, 1, 2.0F},
                                 {2, 1, 1.0F},
                                 {2, 5, 1.0F},
                                 {3, 3, 1.0F},
                                 {3, 7, 1.0F},
                                 {3, 5, 1.0F}});
  // Liked by others: item 0 once, 1 three times, 5 twice, 3 and 7 once, 2 only disliked.
  const std::vector<Index> likes{0, 3};
  // Nobody has touched 4 and 6.
  const std::vector<double> uniform{0, 1.0 / 4, 1.0 / 4, 0, 0, 1.0 / 4, 0, 1.0 / 4};
  const std::vector<double> popular{0, 3.0 / 6, 0, 0, 0, 2.0 / 6, 0, 1.0 / 6};
  for (const BprNegatives kind : {BprNegatives::kUniform, BprNegatives::kPopular}) {
    const std::vector<double>& shares = kind == BprNegatives::kUniform ? uniform : popular;
    const Factors f{Matrix(4, 2), Matrix(8, 2), {}, {}, 0.0F};
    std::vector<int> count(8, 0);
    int draws = 0;
    BprParams params;
    params.negatives = kind;
    for (params.seed = 0; draws < 50'000; ++params.seed) {
      for (const Index item : PairwiseRows(f, params, history.view()).negatives(likes)) {
        ++count[static_cast<std::size_t>(item)];
        ++draws;
      }
    }
    for (std::size_t i = 0; i < count.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(count[i]) / draws, shares[i], shares[i] > 0.0 ? 0.01 : 0.0)
          << i;
    }
  }
}

TEST(FoldInBpr, RowsThatItCannotRankAreRefused) {
  Factors f{Matrix(4, 2), Matrix(3, 2), {}, {}, 0.0F};
  for (Index item = 0; item < 3; ++item) f.items.row(item)[0] = 1.0F;
  const auto refusal = [&](const BprParams& params, const FoldInRow& row, const CsrView& history) {
    return error_of(ErrorKind::kInvalidArgument,
                    [&] { (void)PairwiseRows(f, params, history).solve(row); });
  };
  BprParams params;
  EXPECT_THAT(refusal(params, {{0, 2}, {0.0F, -1.0F}}, {}), HasSubstr("2 values"));
  EXPECT_THAT(refusal(params, {{0, 1, 2}, {}}, {}), HasSubstr("all 3 items"));
  // What is disliked is left to be drawn.
  EXPECT_EQ(PairwiseRows(f, params, {}).solve({{0, 1, 2}, {1.0F, 1.0F, 0.0F}}).size(), 2U);
  for (const double x : PairwiseRows(f, params, {}).solve({})) EXPECT_EQ(x, 0.0);
  params.negatives = BprNegatives::kPopular;
  EXPECT_THAT(refusal(params, {{0}, {}}, {}), HasSubstr("history"));
  const CsrMatrix one = csr(4, 3, {{0, 0, 1.0F}, {1, 0, 1.0F}, {1, 1, -1.0F}});
  EXPECT_THAT(refusal(params, {{0}, {}}, one.view()), HasSubstr("somebody liked"));
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] {
                         (void)PairwiseRows(f, {}, {}).explain({{0}, {}}, 1);
                       }),
              HasSubstr("bpr"));
}

Recommender trained(const Interactions& data, const TrainingParams& params) {
  const Device device = open_device("cpu");
  return {std::make_shared<const Model>(train(data, params, device)), open_device("cpu")};
}

FoldInRow history_of(const Model& model, Index user) {
  const CsrView history = model.history.view();
  const auto columns = history.row_columns(user);
  const auto values = history.row_values(user);
  return {{columns.begin(), columns.end()}, {values.begin(), values.end()}};
}

std::vector<std::pair<const char*, TrainingParams>> every_kind() {
  SgdParams squared;
  squared.factors = 5;
  SgdParams logistic = squared;
  logistic.loss = SgdLoss::kLogistic;
  BprParams bpr;
  bpr.factors = 5;
  BprParams popular = bpr;
  popular.negatives = BprNegatives::kPopular;
  return {{"squared", squared}, {"logistic", logistic}, {"bpr", bpr}, {"popular", popular}};
}

/// Ratings of 1 to 5 about 3, so that the logistic loss has both kinds.
Interactions ratings_about_zero() {
  Interactions data = generate(parse_shape("120x60x2400:explicit"), 5);
  for (float& value : data.by_user.values) value -= 3.5F;
  return data;
}

TEST(FoldInModels, TheOrderOfARowAndItsNeighboursDoNotMatter) {
  const Interactions data = ratings_about_zero();
  for (const auto& [name, params] : every_kind()) {
    const Recommender r = trained(data, params);
    const FoldInRow row = history_of(r.model(), 4);
    FoldInRow turned = row;
    std::ranges::reverse(turned.columns);
    std::ranges::reverse(turned.values);
    std::swap(turned.columns[0], turned.columns[2]);
    std::swap(turned.values[0], turned.values[2]);
    const std::vector<FoldInRow> rows{history_of(r.model(), 7), turned, row};
    const FoldedIn one = r.fold_in(Side::kUsers, std::span(&row, 1));
    const FoldedIn many = r.fold_in(Side::kUsers, rows);
    for (const Index at : {1, 2}) {
      EXPECT_TRUE(std::ranges::equal(one.factors.row_span(0), many.factors.row_span(at))) << name;
    }
    const TopKResult lists = r.recommend_new(rows, {.n = 10});
    const TopKResult alone = r.recommend_new(std::span(&row, 1), {.n = 10});
    for (Index e = 0; e < alone.counts[0]; ++e) {
      EXPECT_EQ(lists.items[lists.k + e], alone.items[e]) << name;
      EXPECT_EQ(lists.scores[lists.k + e], alone.scores[e]) << name;
    }
    const auto seen = r.model().history.view().row_columns(4);
    for (Index e = 0; e < alone.counts[0]; ++e) {
      EXPECT_FALSE(std::ranges::binary_search(seen, alone.items[e])) << name;
    }
  }
}

/// At its end SGD has each row at the minimum for the others, and fold-in finds just that. Its last
/// rate leaves noise of up to 4e-3 in factors of about 0.3.
TEST(FoldInModels, AUserOfTheTrainingIsFoundAgain) {
  const Interactions data = ratings_about_zero();
  for (const SgdLoss loss : {SgdLoss::kSquared, SgdLoss::kLogistic}) {
    SgdParams params;
    params.factors = 5;
    params.loss = loss;
    params.schedule = SgdSchedule::kInverse;
    params.decay = 0.02;
    params.learning_rate = loss == SgdLoss::kSquared ? 0.05 : 0.2;
    params.regularization = loss == SgdLoss::kSquared ? 1.0 : 0.3;
    params.order = SgdOrder::kSerial;  // so few ratings are no work for several threads
    params.iterations = 8000;
    const Recommender r = trained(data, params);
    const Factors& f = *r.model().factors();
    for (const Side side : {Side::kUsers, Side::kItems}) {
      const CsrMatrix by_item = transpose(r.model().history.view());
      const CsrView rows = side == Side::kUsers ? r.model().history.view() : by_item.view();
      std::vector<FoldInRow> asked;
      for (Index row = 0; row < rows.rows; ++row) {
        const auto columns = rows.row_columns(row);
        const auto values = rows.row_values(row);
        asked.push_back({{columns.begin(), columns.end()}, {values.begin(), values.end()}});
      }
      const FoldedIn folded = r.fold_in(side, asked);
      double size = 0.0;
      for (Index row = 0; row < rows.rows; ++row) {
        for (Index j = 0; j < 5; ++j) {
          EXPECT_NEAR(folded.factors.row(row)[j], f.side(side).row(row)[j], 5e-3) << row;
          size += std::abs(double{folded.factors.row(row)[j]}) / (5.0 * rows.rows);
        }
        EXPECT_NEAR(folded.bias[row], f.bias(side)[row], 5e-3) << row;
      }
      EXPECT_GT(size, 0.1);
    }
  }
}

TEST(FoldInModels, ErrorsNameTheRow) {
  const Interactions data = ratings_about_zero();
  BprParams params;
  params.factors = 4;
  params.iterations = 2;
  const Recommender r = trained(data, params);
  const std::vector<FoldInRow> rows{{{1, 2}, {}}, {{3}, {-1.0F}}};
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)r.fold_in(Side::kUsers, rows); }),
              HasSubstr("new row 1: a row with 1 values of which none is above 0"));
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)r.recommend_new(rows, {.n = 3}); }),
              HasSubstr("new row 1"));
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] { (void)r.fold_in(Side::kItems, std::span(rows).first(1)); }),
              HasSubstr("new items need a new training"));
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)r.explain(rows[0], 5); }),
              HasSubstr("no sum"));
}

TEST(FoldInModels, ACancelledQueryEnds) {
  const Interactions data = ratings_about_zero();
  const Recommender r = trained(data, BprParams{.factors = 4, .iterations = 1});
  const std::atomic<bool> cancel = true;
  RunControl control;
  control.cancel = &cancel;
  const FoldInRow row{{1, 2}, {}};
  (void)error_of(ErrorKind::kCancelled,
                 [&] { (void)r.recommend_new(std::span(&row, 1), {.n = 3}, control); });
}

}  // namespace
}  // namespace likewise
