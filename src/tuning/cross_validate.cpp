// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "likewise/cross_validation.h"
#include "likewise/error.h"
#include "likewise/recommender.h"

namespace likewise {
namespace {

using Clock = std::chrono::steady_clock;

void check(const CrossValidationRequest& request) {
  const SplitOptions& parts = request.parts;
  const char* wrong = request.training.resume != nullptr ? "each fold is trained anew, not resumed"
                      : request.training.validation      ? "folds are tested, not validated"
                      : request.evaluation.candidates != nullptr ? "candidates have no fold"
                      : request.evaluation.per_user              ? "users' own values are not kept"
                      : parts.method == SplitMethod::kKFold      ? nullptr
                      : parts.method != SplitMethod::kTime
                          ? "the method must be kfold, or time with rolling"
                      : parts.rolling == 0 ? "method time needs rolling, the number of tests"
                                           : nullptr;
  if (wrong != nullptr) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("cross-validation: {}", wrong));
  }
  parts.validate();
}

/// Splits one after the other: of k folds each is made when its turn comes.
class Parts {
 public:
  Parts(const Interactions& data, const SplitOptions& options) : data_(data), options_(options) {
    if (options.method == SplitMethod::kTime) made_ = split(data, options);
  }
  [[nodiscard]] int count() const {
    return made_.empty() ? options_.folds : static_cast<int>(made_.size());
  }
  [[nodiscard]] Split take(int fold) {
    if (made_.empty()) return split_fold(data_, options_, fold);
    return std::move(made_[static_cast<std::size_t>(fold)]);
  }

 private:
  const Interactions& data_;
  const SplitOptions& options_;
  std::vector<Split> made_;
};

[[nodiscard]] FoldResult run_fold(const CrossValidationRequest& request,
                                  const TrainingOutline& before, const Split& parts,
                                  const RunControl& control) {
  const Clock::time_point start = Clock::now();
  const TrainingPlan plan = prepare(request.training, before, parts.train);
  TrainingRun run;
  run.control.cancel = control.cancel;
  const auto model = std::make_shared<Model>(train(plan, parts.train, run));
  if (request.features != nullptr) add_features(*model, *request.features, run.control);
  const Recommender recommender(model, plan.device.device, request.clip);
  FoldResult result;
  result.algorithm = model->algorithm();
  result.trained = parts.train.by_user.nnz();
  result.tested = parts.test.by_user.nnz();
  EvaluateOptions how = request.evaluation;
  // Of users with features there is something to say.
  how.with_history = request.features == nullptr || !request.features->users;
  result.report = evaluate(recommender, make_test_set(*model, parts.test), how, {}, run.control);
  if (how.with_history) result.users_not_ranked = result.report.users_without_history;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

[[nodiscard]] MetricOverFolds over_folds(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  MetricOverFolds found;
  for (const double value : values) found.mean += value / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - found.mean) * (value - found.mean);
  found.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  found.least = *least;
  found.most = *most;
  return found;
}

/// Metrics that every fold has.
[[nodiscard]] std::map<std::string, MetricOverFolds> metrics_of(
    const std::vector<FoldResult>& folds) {
  std::map<std::string, std::vector<double>> values;
  for (const FoldResult& fold : folds) {
    for (const auto& [name, value] : fold.report.metrics) values[name].push_back(value);
  }
  std::map<std::string, MetricOverFolds> metrics;
  for (const auto& [name, all] : values) {
    if (all.size() == folds.size()) metrics[name] = over_folds(all);
  }
  return metrics;
}

}  // namespace

CrossValidation cross_validate(const CrossValidationRequest& request, const Interactions& data,
                               const RunControl& control,
                               const std::function<void(const FoldResult&, int)>& on_fold) {
  check(request);
  const TrainingOutline before =
      with_device(request.training, outline(request.training), data.by_user.view());
  if (request.features != nullptr) {
    require_features(before.params);
    check_features(data, *request.features);
  }
  Model untrained;
  untrained.params = before.params;
  (void)needs_of(untrained, request.evaluation);  // throws what evaluate() would
  Parts parts(data, request.parts);
  CrossValidation found;
  for (int fold = 0; fold < parts.count(); ++fold) {
    control.check();
    control.report("folds", fold, parts.count(), "folds");
    found.folds.push_back(run_fold(request, before, parts.take(fold), control));
    if (on_fold) on_fold(found.folds.back(), parts.count());
  }
  control.report("folds", parts.count(), parts.count(), "folds");
  found.metrics = metrics_of(found.folds);
  return found;
}

}  // namespace likewise
