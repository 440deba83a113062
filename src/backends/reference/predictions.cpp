// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/predictions.h"

#include "algorithms/knn/knn_prediction.h"
#include "backends/jobs/compare_rows.h"
#include "backends/reference/eight_sums.h"
#include "backends/reference/jobs.h"
#include "core/system/seconds.h"

namespace likewise {
namespace {

class ReferenceFactorPredictions final : public Predictions {
 public:
  explicit ReferenceFactorPredictions(const Factors& factors) : factors_(factors) {}

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    for (std::size_t p = 0; p < rows.size(); ++p) {
      control.check();
      out[p] = rating(rows[p], columns[p]);
    }
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    for (const Index user : rows) {
      for (Index item = 0; item < factors_.items.rows(); ++item) *out++ = rating(user, item);
    }
    return 0.0;
  }

 private:
  /// mean + b_u + (b_i + x_u . y_i)
  [[nodiscard]] float rating(Index user, Index item) const {
    return factor_rating(
        factors_, own_score(factors_, user), item,
        dot(factors_.users.row(user), factors_.items.row(item), factors_.items.cols()));
  }

  const Factors& factors_;
};

class ReferenceKnnPredictions final : public Predictions {
 public:
  explicit ReferenceKnnPredictions(const KnnModel& model) : model_(model) {}

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    for (std::size_t p = 0; p < rows.size(); ++p) {
      control.check();
      out[p] = rating(rows[p], columns[p], asked_similarities(model_, rows.subspan(p, 1)).data());
    }
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    double seconds = 0.0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Array<float> similar;
      seconds += seconds_of([&] { similar = asked_similarities(model_, rows.subspan(r, 1)); });
      for (Index column = 0; column < model_.ratings.by_column().rows; ++column) {
        *out++ = rating(rows[r], column, similar.data());
      }
    }
    return seconds;
  }

 private:
  [[nodiscard]] float rating(Index row, Index column, const float* similarities) const {
    const KnnRatings& ratings = model_.ratings;
    return ratings.predict(ratings.level(row), row, ratings.raters(column), similarities);
  }

  KnnModel model_;
};

}  // namespace

std::unique_ptr<Predictions> make_reference_predictions(const Factors& factors) {
  return std::make_unique<ReferenceFactorPredictions>(factors);
}

std::unique_ptr<Predictions> make_reference_predictions(const KnnModel& model) {
  return std::make_unique<ReferenceKnnPredictions>(model);
}

}  // namespace likewise
