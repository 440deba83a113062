// SPDX-License-Identifier: Apache-2.0
#include "training/validation.h"

#include <memory>

namespace likewise {

NamedMetric usual_metric(const TrainingRun& run, Feedback feedback) {
  if (!run.validation_metric.empty()) return parse_metric(run.validation_metric);
  return parse_metric(feedback == Feedback::kExplicit ? "rmse" : "ndcg@10");
}

Validation make_validation(const Model& model, const Backend& backend, const TrainingRun& run) {
  auto scratch = std::make_shared<Model>();
  scratch->params = model.params;
  scratch->users = model.users.share();
  scratch->items = model.items.share();
  scratch->history = model.history.share();
  const auto test = std::make_shared<TestSet>(make_test_set(model, *run.validation));
  const NamedMetric metric = usual_metric(run, model.feedback());
  EvaluateOptions options;
  options.k = {metric.k};
  options.metrics = {metric.name};
  const std::shared_ptr<const Backend> borrowed(std::shared_ptr<void>(), &backend);
  const RunControl control{run.control.cancel, {}};
  const auto measure = [=](const Factors& factors) {
    scratch->learned = factors.clone();
    const Recommender recommender(scratch, borrowed);
    return evaluate(recommender, *test, options, {}, control).metrics.at(metric.key);
  };
  return {metric.key, higher_is_better(metric.name), measure};
}

}  // namespace likewise
