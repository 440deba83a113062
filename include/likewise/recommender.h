// SPDX-License-Identifier: Apache-2.0
/// `Recommender`: read-only, thread-safe queries over a `Model`. Indices in, indices out: names
/// live in the model's id maps. Batch in, batch out; memory is bounded whatever the batch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/memory.h"
#include "likewise/model.h"
#include "likewise/top_k.h"

namespace likewise {

struct RecommendOptions {
  Index n = 10;                    ///< answers per user, >= 1
  bool include_seen = false;       ///< also items of the user's history
  std::span<const Index> allow{};  ///< if not empty: only these items
  std::span<const Index> deny{};   ///< never these items
  /// Not null: row q lists what query q has seen, in place of the user's history.
  const CsrView* seen = nullptr;
};

/// How rows of factors are compared. Of the first two the largest are the best, of distances the
/// smallest, and a distance is the score.
enum class SimilarityMetric {
  kCosine,     ///< x . y / (|x| |y|)
  kDot,        ///< x . y
  kEuclidean,  ///< sqrt(sum (x - y)^2)
  kHellinger,  ///< sum (sqrt x - sqrt y)^2, without a root or a half; no negative numbers
};

inline constexpr std::string_view kSimilarityMetricNames[] = {"cosine", "dot", "euclidean",
                                                              "hellinger"};

/// An item (or user) with its score.
struct Scored {
  Index index = 0;
  float score = 0.0F;
};

/// One past item of the user and how much of the score it is responsible for.
struct Contribution {
  Index item = 0;
  float value = 0.0F;  ///< the user's own value for it
  double share = 0.0;  ///< its part of the score; may be negative
};

struct Explanation {
  double score = 0.0;                       ///< what the model's fold-in gives, before clipping
  double baseline = 0.0;                    ///< part that no past item causes (means and biases)
  std::vector<Contribution> contributions;  ///< largest share first; baseline + shares = score
};

/// A user who was not trained, as a list of (item, value); or, by a model that has learned features
/// of users, as a list of their tags.
struct FoldInRow {
  std::vector<Index> columns{};      ///< any order, no duplicates
  std::vector<float> values{};       ///< empty: all 1
  std::vector<Index> tags{};         ///< rising; only without columns
  std::vector<float> tag_weights{};  ///< one for each of them, above 0
};

/// What is wrong with one of several new rows: "new row 3: ...".
class RowError : public Error {
 public:
  RowError(ErrorKind kind, Offset row, const std::string& reason)
      : Error(kind, "new row " + std::to_string(row) + ": " + reason), row_(row), reason_(reason) {}
  [[nodiscard]] Offset row() const noexcept { return row_; }  ///< from 0
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  Offset row_;
  std::string reason_;
};

/// Predictions for what a row has no value for: `row` is a user and `others` are items, or the
/// other way round.
using TakeMissing = std::function<void(Side side, Index row, std::span<const Index> others,
                                       std::span<const float> predictions)>;

/// Seconds of the stages of Recommender::predict_missing(). `take` runs at the same time as the
/// other stages.
struct PredictionTimes {
  double magnitudes = 0.0;    ///< means, norms and weights of the rows, and their way to a GPU
  double similarities = 0.0;  ///< of neighbourhood models that predict ratings
  double predictions = 0.0;
  double output = 0.0;  ///< in `take`
};

/// Rows that were not trained, as the model sees them.
struct FoldedIn {
  Matrix factors;     ///< rows x factors
  Array<float> bias;  ///< one per row, or empty where the model has none
};

/// The job that a model with these parameters needs for lists, similar rows and whole rows of
/// scores.
[[nodiscard]] Job lists_job(const TrainingParams& params);
/// The job that it needs for predictions of pairs and of all that is missing; nothing where adding
/// up biases or kept lists will do.
[[nodiscard]] std::optional<Job> predictions_job(const TrainingParams& params);

class Recommender {
 public:
  /// `model` is kept alive. The device needs lists_job() of the model's parameters for lists and
  /// similar rows, predictions_job() for predictions; Error(kDevice) where one is first asked for
  /// and missing. `clip`: whether predicted ratings stay within the scale of the training values,
  /// from the smallest to the largest; absent: unless the model was trained without (its parameter
  /// clip). Throws Error(kInvalidArgument) where it is given and the model predicts no ratings.
  Recommender(std::shared_ptr<const Model> model, Device device, std::optional<bool> clip = {});
  ~Recommender();

  [[nodiscard]] const Model& model() const;

  /// The n best items of each user. counts[u] < n where the filters leave fewer items, and 0 where
  /// all scores would be 0: nothing speaks for any item. The result's k is min(n, items). Scores
  /// are those of predict(), but those of factors are not clipped: lists are in their order, and
  /// clipping would make items alike. A user without history has factors of zero: item biases
  /// decide, where there are any. Throws Error(kInvalidArgument) for a model that has no order of
  /// items (Model::ranks_items()).
  [[nodiscard]] TopKResult recommend(std::span<const Index> users, const RecommendOptions& options,
                                     const RunControl& control = {}) const;
  /// The same for users who were not trained, each given by what it likes. Of a user who likes
  /// nothing the list is empty, unless the model has an order of items for it.
  [[nodiscard]] TopKResult recommend_new(std::span<const FoldInRow> users,
                                         const RecommendOptions& options,
                                         const RunControl& control = {}) const;

  /// The n rows of `side` most similar to each of `rows` (itself excluded), best first: for
  /// distances the smallest. Empty for a row of zeros, whose cosine with any is 0. A neighbourhood
  /// model gives the neighbours it keeps, by its own similarity. Throws Error(kInvalidArgument) for
  /// a model that has neither (popularity, or the other side of neighbours), and for kHellinger
  /// where a factor is negative, naming row and column.
  [[nodiscard]] TopKResult similar(Side side, std::span<const Index> rows, Index n,
                                   SimilarityMetric metric, const RunControl& control = {}) const;

  /// The n trained users most similar to users who were not trained, by a user-knn model. Throws
  /// Error(kInvalidArgument) for other models.
  [[nodiscard]] TopKResult similar_new(std::span<const FoldInRow> users, Index n) const;

  /// score(u, i) for each pair; -1 stands for "unknown to the model" and leaves out the terms of
  /// that side (an explicit model then falls back to mean and the other bias). Ratings stay within
  /// the scale of the training values, as the constructor says. The same bits as
  /// predict_missing() gives, on every device. Throws Error(kInvalidArgument), as the two below,
  /// for a popularity model of ratings: it predicts none.
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl& control = {}) const;

  /// What lists are in the order of, for each pair (no -1): as predict(), but without clipping
  /// where it would make items alike, and for every model that ranks.
  [[nodiscard]] std::vector<float> ranking_scores(std::span<const Index> users,
                                                  std::span<const Index> items) const;

  /// A prediction for every user and item that have no value together, row by row: by item where
  /// item-knn predicts ratings, else by user. `take` is called for one row at a time, on any
  /// thread, while later rows are predicted. Memory is bounded.
  PredictionTimes predict_missing(const TakeMissing& take, const RunControl& control = {}) const;

  /// What predict() and predict_missing() take of the device's own memory; a total of 0 before
  /// either was called, and where they compute in the machine's.
  [[nodiscard]] MemoryPlan prediction_memory() const;

  /// The scores that users who were not trained would give `items`: out is users x items.
  [[nodiscard]] std::vector<float> predict_new(std::span<const FoldInRow> users,
                                               std::span<const Index> items) const;

  /// Every score of a few users: out is users.size() x items, row-major without padding.
  void score_all(std::span<const Index> users, float* out) const;

  /// Factors (and bias, empty when the model has none) of rows of `side` that were not trained:
  /// the minimum of the row's part of the training's objective, with the other side as it is
  /// (math.md). A row without entries gets zeros. Throws Error(kInvalidArgument) for a row
  /// that does not fit the model (outside, twice, not finite; with bpr without likes, or without
  /// anything else), for items of bpr and for a model without factors, Error(kNumerical) naming
  /// count when there is no minimum (no regularization). Errors of one row are a RowError.
  [[nodiscard]] FoldedIn fold_in(Side side, std::span<const FoldInRow> rows) const;

  /// Why `item` for a user with this history: Hu et al. 2008, section 5. Throws
  /// Error(kInvalidArgument) for models whose scores are no sums over a history.
  [[nodiscard]] Explanation explain(const FoldInRow& user_history, Index item) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace likewise
