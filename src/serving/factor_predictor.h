// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <iterator>

#include "backends/jobs/predictions.h"
#include "core/lazy.h"
#include "retrieval/similar_rows.h"
#include "serving/fold_in.h"
#include "serving/predictor.h"

namespace likewise {

/// score(u, i) = global_mean + user_bias[u] + item_bias[i] + x_u . y_i. Outside users are folded
/// in.
class FactorPredictor final : public Predictor {
 public:
  /// All must outlive it.
  FactorPredictor(const Model& model, const Factors& factors, const Device& device);

  [[nodiscard]] TopKResult top_k(std::span<const AskedUser> users, Index n,
                                 const TopKFilter& filter,
                                 const RunControl& control) const override;
  void score_all(std::span<const AskedUser> users, float* out) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl& control) const override;
  /// Without what is the same for all items of a user.
  [[nodiscard]] std::vector<float> ranking_scores(std::span<const Index> users,
                                                  std::span<const Index> items) const override;
  PredictionTimes predict_missing(const TakeMissing& take,
                                  const RunControl& control) const override;
  [[nodiscard]] MemoryPlan prediction_memory() const override;
  [[nodiscard]] TopKResult similar(Side side, std::span<const Index> rows, Index n,
                                   SimilarityMetric metric,
                                   const RunControl& control) const override;
  [[nodiscard]] Explanation explain(const AskedUser& user, Index item) const override;
  [[nodiscard]] FoldedIn fold_in(Side side, std::span<const FoldInRow> rows) const override;

 private:
  /// Users as the scorer takes them: their factors, and what all their scores have in common.
  struct Queries {
    Matrix factors;
    std::vector<double> constants;
  };
  /// A row that was not trained, the place-th of several: its factors, and the bias where rows have
  /// one.
  [[nodiscard]] std::vector<double> solved(Side side, const FoldInRow& row, Offset place) const;
  [[nodiscard]] Queries queries(std::span<const AskedUser> users, const RunControl& control) const;
  /// b_i + x_u . y_i
  [[nodiscard]] double ranking_score(Index user, Index item) const;
  /// Of a pair with an unknown side (-1): what is known of the other.
  [[nodiscard]] float fallback(Index user, Index item) const;
  [[nodiscard]] const Scorer& scorer() const;
  [[nodiscard]] const Predictions& predictions() const;
  [[nodiscard]] const FoldInSolver& solver(Side side) const;
  /// Throws Error(kInvalidArgument) that names row, id and column of a factor that the metric does
  /// not take.
  void require_taken(const Metric& metric, Side side, const MatrixView& table) const;

  const Factors& factors_;
  const Device& device_;
  mutable Lazy<Scorer> scorer_;
  mutable Lazy<Predictions> predictions_;
  mutable std::array<Lazy<FoldInSolver>, 2> solvers_;
  mutable std::array<Lazy<bool>, 2>
      nonnegative_;  ///< whether no trained factor of a side is below 0
  /// By side and metric.
  mutable std::array<std::array<Lazy<SimilarRows>, std::size(kSimilarityMetricNames)>, 2> similar_;
};

}  // namespace likewise
