// SPDX-License-Identifier: Apache-2.0
/// The job `predictions`: ratings of pairs, and of whole rows. What every device is tested against:
/// src/backends/reference/predictions.cpp. A rating is the same on every device, bit-identical, and
/// whether it is asked for as a pair or as part of a row; of neighbours
/// src/algorithms/knn/rating_formula.h has the formula.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/knn.h"
#include "likewise/memory.h"

namespace likewise {

class KnnRatings;
class KnnSearch;
class SimilarityProblem;

/// Predicts what one model does. Thread-safe after construction.
class Predictions {
 public:
  virtual ~Predictions() = default;
  /// out[p] is the rating of rows[p] and columns[p], all of which the model knows. Errors:
  /// kCancelled, kOutOfMemory, kDevice.
  virtual void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                        const RunControl& control) const = 0;
  /// Every rating of some rows: out is rows.size() x columns, row-major without padding. Returns
  /// the seconds that similarities took.
  virtual double of_rows(std::span<const Index> rows, float* out) const = 0;
  /// What it takes of its device's own memory, found before any of it was allocated; a total of 0
  /// where it computes in the machine's.
  [[nodiscard]] virtual MemoryPlan memory() const { return {}; }
};

/// A model of neighbours that predicts ratings. Its rows are those of the side that it compares.
struct KnnModel {
  const SimilarityProblem& problem;
  const KnnRatings& ratings;
  const KnnLists* kept = nullptr;  ///< whom a row may ask; null: all of the others
  /// The device's own search for that problem, made when it is first asked for.
  std::function<const KnnSearch&()> search;
};

/// Makes predictions. Thread-safe.
class PredictionJob {
 public:
  static constexpr Job kJob = Job::kPredictions;

  virtual ~PredictionJob() = default;
  /// Rows are users and columns items. A rating is the score of the job `top-k`, b_i + x . y,
  /// rounded, with what is the user's own added to it, and rounded once more: what lists say.
  /// `factors` must outlive the result. Errors: kOutOfMemory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<Predictions> by_factors(const Factors& factors) const = 0;
  /// What `model` refers to must outlive the result. Errors: kOutOfMemory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<Predictions> by_knn(const KnnModel& model) const = 0;
};

/// What is the same in all scores of a user, to which products are added.
[[nodiscard]] inline double own_score(const Factors& factors, Index user) {
  const double mean{factors.global_mean};
  return factors.user_bias.empty() ? mean : mean + double{factors.user_bias[user]};
}

/// The rating of a user with own_score() `own`, and of an item: product is x . y.
[[nodiscard]] inline float factor_rating(const Factors& factors, double own, Index item,
                                         double product) {
  const double bias = factors.item_bias.empty() ? 0.0 : double{factors.item_bias[item]};
  return static_cast<float>(own + double{static_cast<float>(product + bias)});
}

}  // namespace likewise
