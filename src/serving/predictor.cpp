// SPDX-License-Identifier: Apache-2.0
#include "serving/predictor.h"

#include <variant>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "likewise/error.h"
#include "serving/bias_predictor.h"
#include "serving/factor_predictor.h"
#include "serving/item_weights_predictor.h"
#include "serving/knn_predictor.h"
#include "serving/missing_cells.h"
#include "serving/popular_predictor.h"

namespace likewise {
namespace {

/// Which predictor answers from what was learned: a kind without one does not compile.
struct PredictorFactory {
  const Model& model;
  const Device& device;
  bool clip;
  std::unique_ptr<Predictor> operator()(const Factors& learned) const {
    return std::make_unique<FactorPredictor>(model, learned, device);
  }
  std::unique_ptr<Predictor> operator()(const Knn& learned) const {
    return std::make_unique<KnnPredictor>(model, learned, device, clip);
  }
  std::unique_ptr<Predictor> operator()(const Popularity& learned) const {
    return std::make_unique<PopularPredictor>(model, learned, device);
  }
  std::unique_ptr<Predictor> operator()(const Biases& learned) const {
    return std::make_unique<BiasPredictor>(model, learned, device, clip);
  }
  std::unique_ptr<Predictor> operator()(const ItemWeights& learned) const {
    return std::make_unique<ItemWeightsPredictor>(model, learned, device);
  }
};

}  // namespace

void Predictor::refuse(const char* what) const {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("a model of {} has no {}: train with another algorithm, as {}",
                          model_.algorithm(), what, mention("algorithm", "als")));
}

PredictionTimes Predictor::predict_missing(const TakeMissing& take,
                                           const RunControl& control) const {
  const MissingCells cells(model_.history.view(), model_.items.size());
  return cells.for_rows(
      Side::kUsers, model_.users.size(), control,
      [&](std::span<const Index> batch, float* scores) {
        score_all(trained_users(model_, batch), scores);
        return 0.0;
      },
      take);
}

TopKResult Predictor::similar(Side, std::span<const Index>, Index, SimilarityMetric,
                              const RunControl&) const {
  refuse("similar rows");
}

TopKResult Predictor::similar_new(std::span<const AskedUser>, Index) const {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("neighbours of new users need user-knn, not {}", model_.algorithm()));
}

Explanation Predictor::explain(const AskedUser&, Index) const { refuse("explanations"); }

FoldedIn Predictor::fold_in(Side, std::span<const FoldInRow>) const {
  refuse("factors to fold new rows into");
}

AskedUser trained_user(const Model& model, Index number) {
  if (model.history.rows == 0) return {number, {}, {}};
  const CsrView history = model.history.view();
  return {number, history.row_columns(number), history.row_values(number)};
}

std::vector<AskedUser> trained_users(const Model& model, std::span<const Index> numbers) {
  std::vector<AskedUser> users;
  users.reserve(numbers.size());
  for (const Index number : numbers) users.push_back(trained_user(model, number));
  return users;
}

Job lists_job(const TrainingParams& params) { return algorithm_of(params)->lists_job(); }

std::optional<Job> predictions_job(const TrainingParams& params) {
  return algorithm_of(params)->predictions_job();
}

std::unique_ptr<Predictor> make_predictor(const Model& model, const Device& device, bool clip) {
  return std::visit(PredictorFactory{model, device, clip}, model.learned);
}

}  // namespace likewise
