// SPDX-License-Identifier: Apache-2.0
/// Cross-validation: a training and an evaluation for each of several splits of the same data.
///
///     const CrossValidation found = cross_validate({.training = {.algorithm = "als"}}, data);
///     found.metrics.at("ndcg@10").mean;
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "likewise/control.h"
#include "likewise/evaluation.h"
#include "likewise/features.h"
#include "likewise/split.h"
#include "likewise/training.h"

namespace likewise {

struct CrossValidationRequest {
  TrainingRequest training{};  ///< prepared anew for each fold; no model to resume, no validation
  /// kKFold: every interaction is tested once. kTime with `rolling`: tests one after the other.
  SplitOptions parts{.method = SplitMethod::kKFold};
  const FeatureTables* features = nullptr;  ///< that the model of each fold learns; null: none
  EvaluateOptions evaluation{};             ///< without candidates and `per_user`
  std::optional<bool> clip{};               ///< of predicted ratings, as Recommender() takes it
};

/// One fold. Training and test part share all users and items, so none is unknown to the model.
/// Lists are those of users with a history in the training part, or of all where the model learns
/// features of users.
struct FoldResult {
  std::string algorithm{};  ///< "auto" may choose another one for each fold
  Offset trained = 0;       ///< interactions of the training part
  Offset tested = 0;        ///< and of the test part
  EvaluationReport report{};
  Index users_not_ranked = 0;  ///< with something to find, but without a history
  double seconds = 0.0;        ///< of training and evaluation
};

/// A metric over the folds. The deviation is that of a sample: sqrt(sum (x - mean)^2 / (folds -
/// 1)).
struct MetricOverFolds {
  double mean = 0.0;
  double deviation = 0.0;
  double least = 0.0;
  double most = 0.0;
};

struct CrossValidation {
  std::vector<FoldResult> folds{};
  std::map<std::string, MetricOverFolds> metrics{};  ///< as EvaluationReport::metrics names them
};

/// `on_fold` is called after each fold, with how many there are. Deterministic in (request, data);
/// one fold after the other, whose parts are held one at a time where they are of kKFold.
/// Errors: those of split(), prepare(), train(), add_features() and evaluate(); kInvalidArgument
/// for another method than these two, a model to resume, and members of `evaluation` that have no
/// use here.
[[nodiscard]] CrossValidation cross_validate(
    const CrossValidationRequest& request, const Interactions& data, const RunControl& control = {},
    const std::function<void(const FoldResult&, int folds)>& on_fold = {});

}  // namespace likewise
