// SPDX-License-Identifier: Apache-2.0
#include "training/validation.h"

#include <memory>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {

NamedMetric usual_metric(const TrainingRun& run, Feedback feedback) {
  if (!run.validation_metric.empty()) return parse_metric(run.validation_metric);
  return parse_metric(feedback == Feedback::kExplicit ? "rmse" : "ndcg@10");
}

void check_target(const TrainingRun& run) {
  if (!run.target) return;
  const auto needs = [&](const char* what) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("target {} needs {}", *run.target, what));
  };
  if (run.validation == nullptr) needs("validation data to be measured on");
  if (run.validation_metric.empty()) needs("a metric that says what it is of, as ndcg@10 or rmse");
  require_possible(parse_metric(run.validation_metric), *run.target);
}

Validation make_validation(const Model& model, const Device& device, const TrainingRun& run) {
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
  for (const Job job : evaluation_jobs(model, options)) device.require(job);
  const RunControl control{run.control.cancel, {}};
  const auto measure = [=](const Factors& factors) {
    scratch->learned = factors.clone();
    const Recommender recommender(scratch, device);
    return evaluate(recommender, *test, options, {}, control).metrics.at(metric.key);
  };
  return {metric.key, higher_is_better(metric.name), measure, run.target};
}

}  // namespace likewise
