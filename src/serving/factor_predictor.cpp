// SPDX-License-Identifier: Apache-2.0
#include "serving/factor_predictor.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backends/jobs/device_jobs.h"
#include "core/linalg/dense.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/features.h"
#include "retrieval/batches.h"
#include "serving/missing_cells.h"
#include "serving/rate_pairs.h"

namespace likewise {
namespace {

constexpr std::size_t number(Side side) { return side == Side::kUsers ? 0 : 1; }

/// What fold-in makes of the row with this number. Throws RowError, for factors that scores could
/// not be computed with too.
[[nodiscard]] std::vector<double> solution(const FoldInSolver& solver, const FoldInRow& row,
                                           Offset number) {
  std::vector<double> x;
  try {
    x = solver.solve(row);
  } catch (const Error& error) {
    throw RowError(error.kind(), number, error.what());
  }
  if (std::ranges::all_of(x, [](double at) { return std::abs(at) <= kLargestNumber; })) return x;
  throw RowError(ErrorKind::kInvalidArgument, number,
                 fmt::format("factors beyond {:g}: its values are too large, or the model's "
                             "regularization is too small",
                             kLargestNumber));
}

[[nodiscard]] FoldInRow row_of(const AskedUser& user) {
  return {{user.items.begin(), user.items.end()},
          {user.values.begin(), user.values.end()},
          {user.tags.begin(), user.tags.end()},
          {user.tag_weights.begin(), user.tag_weights.end()}};
}

}  // namespace

FactorPredictor::FactorPredictor(const Model& model, const Factors& factors, const Device& device)
    : Predictor(model), factors_(factors), device_(device) {
  const auto fits = [](const Array<float>& bias, Index rows) {
    return bias.empty() || bias.size() == rows;
  };
  if (factors.users.cols() == factors.items.cols() && factors.users.rows() == model.users.size() &&
      factors.items.rows() == model.items.size() && fits(factors.user_bias, factors.users.rows()) &&
      fits(factors.item_bias, factors.items.rows())) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("the model's parts do not fit together: {} users and {} items, factors "
                          "{} x {} and {} x {}, biases {} and {}",
                          model.users.size(), model.items.size(), factors.users.rows(),
                          factors.users.cols(), factors.items.rows(), factors.items.cols(),
                          factors.user_bias.size(), factors.item_bias.size()));
}

const Scorer& FactorPredictor::scorer() const {
  return scorer_.get([&] {
    return job<TopKJob>(device_).make_scorer(factors_.items.view(), factors_.item_bias.span(),
                                             ScoreKind::kDot);
  });
}

const FoldInSolver& FactorPredictor::solver(Side side) const {
  return solvers_[number(side)].get([&] { return make_fold_in_solver(model(), factors_, side); });
}

std::vector<double> FactorPredictor::solved(Side side, const FoldInRow& row, Offset place) const {
  if (row.tags.empty()) return solution(solver(side), row, place);
  const Features& features = model().features(side);
  const Matrix& trained = factors_.side(side);
  const bool& nonnegative = nonnegative_[number(side)].get(
      [&] { return std::make_unique<bool>(is_nonnegative(trained)); });
  std::vector<double> x = sum_of_tags(features, tag_shares(features, row.tags, row.tag_weights));
  if (!nonnegative) return x;
  for (double& one : std::span(x).first(static_cast<std::size_t>(trained.cols()))) {
    one = std::max(0.0, one);
  }
  return x;
}

FactorPredictor::Queries FactorPredictor::queries(std::span<const AskedUser> users,
                                                  const RunControl& control) const {
  const Index cols = factors_.items.cols();
  Queries result{Matrix(static_cast<Index>(users.size()), cols),
                 std::vector<double>(users.size(), double{factors_.global_mean})};
  parallel_for(std::ssize(users), 16, [&](Offset u) {
    const AskedUser& user = users[static_cast<std::size_t>(u)];
    float* const to = result.factors.row(static_cast<Index>(u));
    double& constant = result.constants[static_cast<std::size_t>(u)];
    if (user.number >= 0) {
      std::copy_n(factors_.users.row(user.number), cols, to);
      constant = own_score(factors_, user.number);
      return;
    }
    control.check();
    const std::vector<double> x = solved(Side::kUsers, row_of(user), u);
    for (Index j = 0; j < cols; ++j) to[j] = static_cast<float>(x[static_cast<std::size_t>(j)]);
    if (std::ssize(x) > cols) constant += double{static_cast<float>(x.back())};
  });
  return result;
}

TopKResult FactorPredictor::top_k(std::span<const AskedUser> users, Index n,
                                  const TopKFilter& filter, const RunControl& control) const {
  const Queries queries = this->queries(users, control);
  TopKResult result = scorer().top_k(queries.factors.view(), n, filter, control);
  for (Offset q = 0; q < result.counts.size(); ++q) {
    const double constant = queries.constants[static_cast<std::size_t>(q)];
    if (constant == 0.0) continue;
    for (Offset e = q * result.k; e < q * result.k + result.counts[q]; ++e) {
      result.scores[e] = static_cast<float>(constant + double{result.scores[e]});
    }
  }
  return result;
}

void FactorPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  const Queries queries = this->queries(users, {});
  scorer().score_all(queries.factors.view(), out);
  for (const double constant : queries.constants) {
    for (Index i = 0; i < factors_.items.rows(); ++i, ++out) {
      *out = static_cast<float>(constant + double{*out});
    }
  }
}

const Predictions& FactorPredictor::predictions() const {
  return predictions_.get([&] { return job<PredictionJob>(device_).by_factors(factors_); });
}

MemoryPlan FactorPredictor::prediction_memory() const {
  return predictions_.made() == nullptr ? MemoryPlan() : predictions_.made()->memory();
}

std::vector<float> FactorPredictor::predict(std::span<const Index> users,
                                            std::span<const Index> items,
                                            const RunControl& control) const {
  return rate_pairs(
      users, items,
      [&](std::span<const Index> known_users, std::span<const Index> known_items, float* out) {
        predictions().of_pairs(known_users, known_items, out, control);
      },
      [&](Index user, Index item) { return fallback(user, item); });
}

PredictionTimes FactorPredictor::predict_missing(const TakeMissing& take,
                                                 const RunControl& control) const {
  const Model& model = this->model();
  const double making = seconds_of([&] { (void)predictions(); });
  PredictionTimes times = MissingCells(model.history.view(), model.items.size())
                              .for_rows(
                                  Side::kUsers, model.users.size(), control,
                                  [&](std::span<const Index> users, float* out) {
                                    return predictions().of_rows(users, out);
                                  },
                                  take);
  times.magnitudes = making;
  return times;
}

float FactorPredictor::fallback(Index user, Index item) const {
  double score = user >= 0 ? own_score(factors_, user) : double{factors_.global_mean};
  if (item >= 0 && !factors_.item_bias.empty()) score += double{factors_.item_bias[item]};
  return static_cast<float>(score);
}

double FactorPredictor::ranking_score(Index user, Index item) const {
  const Factors& f = factors_;
  double score = f.item_bias.empty() ? 0.0 : double{f.item_bias[item]};
  const auto x = f.users.row_span(user);
  const auto y = f.items.row_span(item);
  for (std::size_t j = 0; j < x.size(); ++j) score += double{x[j]} * double{y[j]};
  return score;
}

std::vector<float> FactorPredictor::ranking_scores(std::span<const Index> users,
                                                   std::span<const Index> items) const {
  std::vector<float> scores(users.size());
  parallel_for(static_cast<Offset>(scores.size()), 1024, [&](Offset i) {
    const auto pair = static_cast<std::size_t>(i);
    scores[pair] = static_cast<float>(ranking_score(users[pair], items[pair]));
  });
  return scores;
}

void FactorPredictor::require_taken(const Metric& metric, Side side,
                                    const MatrixView& table) const {
  const auto place = refused_place(metric, table);
  if (!place) return;
  const bool users = side == Side::kUsers;
  const IdMap& ids = users ? model().users : model().items;
  refuse_place(metric, *place,
               fmt::format("{} factors: row {} (id '{}')", users ? "user" : "item", place->row,
                           printable(ids.name(place->row))));
}

TopKResult FactorPredictor::similar(Side side, std::span<const Index> rows, Index n,
                                    SimilarityMetric metric, const RunControl& control) const {
  if (rows.empty()) return make_top_k_result(0, n, factors_.side(side).rows());
  const SimilarRows& table = similar_[number(side)][static_cast<std::size_t>(metric)].get([&] {
    const MatrixView rows_of_side = factors_.side(side).view();
    require_taken(metric_of(metric), side, rows_of_side);
    return std::make_unique<SimilarRows>(rows_of_side, metric_of(metric), device_);
  });
  return table.find(rows, n, control);
}

Explanation FactorPredictor::explain(const AskedUser& user, Index item) const {
  return solver(Side::kUsers).explain(row_of(user), item);
}

FoldedIn FactorPredictor::fold_in(Side side, std::span<const FoldInRow> rows) const {
  const FoldInSolver& solver = this->solver(side);
  const auto count = static_cast<Index>(rows.size());
  const Index cols = factors_.items.cols();
  const bool biased = solver.width() > cols;
  FoldedIn result{Matrix(count, cols), Array<float>(biased ? count : 0)};
  parallel_for(count, 1, [&](Offset r) {
    const std::vector<double> x = solved(side, rows[static_cast<std::size_t>(r)], r);
    float* to = result.factors.row(static_cast<Index>(r));
    for (Index j = 0; j < cols; ++j) to[j] = static_cast<float>(x[static_cast<std::size_t>(j)]);
    if (biased) result.bias[r] = static_cast<float>(x.back());
  });
  return result;
}

}  // namespace likewise
