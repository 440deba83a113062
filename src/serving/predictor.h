// SPDX-License-Identifier: Apache-2.0
/// What a kind of model answers: scores, lists, similar rows, reasons, rows that were not trained.
/// One implementation per alternative of `Learned`; `Recommender` adds filters, batches and limits,
/// and has checked indices and rows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/jobs/top_k.h"
#include "likewise/device.h"
#include "likewise/memory.h"
#include "likewise/model.h"
#include "likewise/recommender.h"

namespace likewise {

/// A user who is asked about: one of the model with its history, or an outside one with what it
/// likes (items rising), or with its tags where the model has factors.
struct AskedUser {
  Index number = -1;  ///< row of the model; -1: outside
  std::span<const Index> items;
  std::span<const float> values;
  std::span<const Index> tags{};
  std::span<const float> tag_weights{};
};

/// Thread-safe after construction. What a kind of model cannot answer throws
/// Error(kInvalidArgument) that says which can.
class Predictor {
 public:
  virtual ~Predictor() = default;

  /// Before predict() and predict_missing(), and before scores of outside users are told: throws
  /// where what a user would see as predicted ratings are none.
  virtual void require_predictions() const {}
  /// The n best items of each user; row q of the filter's `excluded` is what user q must not get.
  [[nodiscard]] virtual TopKResult top_k(std::span<const AskedUser> users, Index n,
                                         const TopKFilter& filter,
                                         const RunControl& control) const = 0;
  /// out is users.size() x items, row-major without padding.
  virtual void score_all(std::span<const AskedUser> users, float* out) const = 0;
  /// A score per pair; -1 stands for an unknown user or item.
  [[nodiscard]] virtual std::vector<float> predict(std::span<const Index> users,
                                                   std::span<const Index> items,
                                                   const RunControl& control) const = 0;
  /// A score per pair of known users and items, in whose order lists are.
  [[nodiscard]] virtual std::vector<float> ranking_scores(std::span<const Index> users,
                                                          std::span<const Index> items) const {
    return predict(users, items, {});
  }
  /// As Recommender::predict_missing(). User by user, unless a kind of model has a better order.
  virtual PredictionTimes predict_missing(const TakeMissing& take, const RunControl& control) const;
  /// As Recommender::prediction_memory().
  [[nodiscard]] virtual MemoryPlan prediction_memory() const { return {}; }
  [[nodiscard]] virtual TopKResult similar(Side side, std::span<const Index> rows, Index n,
                                           SimilarityMetric metric,
                                           const RunControl& control) const;
  /// The n trained users nearest to outside ones.
  [[nodiscard]] virtual TopKResult similar_new(std::span<const AskedUser> users, Index n) const;
  /// What each item of the user adds to the score of `item`; the user is taken as an outside one.
  [[nodiscard]] virtual Explanation explain(const AskedUser& user, Index item) const;
  [[nodiscard]] virtual FoldedIn fold_in(Side side, std::span<const FoldInRow> rows) const;

 protected:
  /// `model` must outlive it.
  explicit Predictor(const Model& model) : model_(model) {}
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  [[noreturn]] void refuse(const char* what) const;

  const Model& model_;
};

/// A user of the model.
[[nodiscard]] AskedUser trained_user(const Model& model, Index number);
[[nodiscard]] std::vector<AskedUser> trained_users(const Model& model,
                                                   std::span<const Index> numbers);

/// The predictor of what `model` learned. Both must outlive it. `clip`: ratings that are clipped
/// before they are put in order stay within the scale of the training values; those of factors are
/// not, and left to Recommender.
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(const Model& model, const Device& device,
                                                        bool clip);

}  // namespace likewise
