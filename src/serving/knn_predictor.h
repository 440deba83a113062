// SPDX-License-Identifier: Apache-2.0
/// Answers of a neighbourhood model. Lists of `similar` and summed scores come from the K
/// neighbours that the model keeps, and so do ratings that are predicted from those; others ask
/// rows that may be no neighbours of the list, so their similarities are computed when they are
/// needed, a bounded block at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "algorithms/knn/knn_prediction.h"
#include "algorithms/knn/similarity.h"
#include "backends/jobs/knn.h"
#include "backends/jobs/knn_rows.h"
#include "backends/jobs/predictions.h"
#include "core/lazy.h"
#include "retrieval/top_k.h"
#include "serving/predictor.h"
#include "serving/score_lists.h"
#include "serving/sum_pairs.h"

namespace likewise {

class KnnPredictor final : public Predictor {
 public:
  /// All must outlive it.
  KnnPredictor(const Model& model, const Knn& learned, const Device& device, bool clip);

  [[nodiscard]] TopKResult top_k(std::span<const AskedUser> users, Index n,
                                 const TopKFilter& filter,
                                 const RunControl& control) const override;
  void score_all(std::span<const AskedUser> users, float* out) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl& control) const override;
  /// By item where item-knn predicts ratings, else by user.
  PredictionTimes predict_missing(const TakeMissing& take,
                                  const RunControl& control) const override;
  [[nodiscard]] MemoryPlan prediction_memory() const override;
  /// From the kept neighbours: fewer than n where there are fewer. They have one metric, their own.
  [[nodiscard]] TopKResult similar(Side side, std::span<const Index> rows, Index n,
                                   SimilarityMetric metric,
                                   const RunControl& control) const override;
  /// Only of user-knn.
  [[nodiscard]] TopKResult similar_new(std::span<const AskedUser> users, Index n) const override;
  /// Only of item-knn.
  [[nodiscard]] Explanation explain(const AskedUser& user, Index item) const override;

 private:
  /// Every score of some users, in blocks; `take` is called from many threads, for one user by one
  /// at a time and with items rising.
  void score(std::span<const AskedUser> users, const RunControl& control,
             const TakeScores& take) const;
  [[nodiscard]] bool sums() const { return params_.prediction == Prediction::kSum; }
  [[nodiscard]] bool of_users() const { return params_.side == Side::kUsers; }
  [[nodiscard]] bool from_kept() const { return params_.predict_from == PredictFrom::kKept; }
  void score_sums(std::span<const AskedUser> users, const RunControl& control,
                  const TakeScores& take) const;
  void score_by_users(std::span<const AskedUser> users, const RunControl& control,
                      const TakeScores& take) const;
  /// For a few users: only their own items are compared. Empty where all items had better
  /// be.
  [[nodiscard]] std::vector<Index> few_items(std::span<const AskedUser> users) const;
  void score_by_own_items(std::span<const AskedUser> users, std::span<const Index> own_items,
                          const RunControl& control, const TakeScores& take) const;
  void score_by_items(std::span<const AskedUser> users, const RunControl& control,
                      const TakeScores& take) const;
  /// The same for users of the model.
  void score_trained_by_items(std::span<const AskedUser> users, const RunControl& control,
                              const TakeScores& take) const;
  /// The same from the neighbours that items keep.
  void score_by_kept_items(std::span<const AskedUser> users, const RunControl& control,
                           const TakeScores& take) const;
  void add_sums(const AskedUser& user, std::vector<double>& scores) const;
  [[nodiscard]] std::vector<float> predict_sums(std::span<const Index> users,
                                                std::span<const Index> items) const;
  [[nodiscard]] std::vector<float> predict_ratings(std::span<const Index> users,
                                                   std::span<const Index> items,
                                                   const RunControl& control) const;
  /// What predictions ask: similarities of all rows to some rows of the model, rows.size() x rows
  /// of the model, 0 where a row may not be asked.
  [[nodiscard]] Array<float> similarities(std::span<const Index> rows) const;
  /// The same for users of user-knn, outside ones too.
  [[nodiscard]] Array<float> similarities(std::span<const AskedUser> users) const;
  /// How similar users of user-knn are to all.
  [[nodiscard]] Array<float> compare(std::span<const AskedUser> users) const;
  [[nodiscard]] KnnRatings::Raters raters_of(const AskedUser& user,
                                             std::vector<float>& deviations) const;

  struct Engine {
    SimilarityProblem problem;
    KnnRatings ratings;
    KnnRows rows;
    Engine(const CsrView& history, const KnnParams& params, const Biases& biases);
  };
  [[nodiscard]] const Engine& engine() const;
  [[nodiscard]] const KnnSearch& search() const;
  /// What the job asks to know of the model.
  [[nodiscard]] KnnModel rated() const;
  [[nodiscard]] const Predictions& predictions() const;
  [[nodiscard]] const SumPairs& sum_pairs() const;
  /// Whom an outside user of user-knn meets in a sum, nearest first.
  [[nodiscard]] std::vector<Candidate> sum_neighbours(const AskedUser& user) const;

  const Knn& learned_;
  const KnnParams params_;  ///< how lists make scores
  const Device& device_;
  CsrView history_;
  mutable Lazy<Engine> engine_;
  mutable Lazy<KnnSearch> search_;
  mutable Lazy<Predictions> predictions_;
  mutable Lazy<SumPairs> sum_pairs_;
};

}  // namespace likewise
