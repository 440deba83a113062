// SPDX-License-Identifier: Apache-2.0
#include "training/validation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "algorithms/iteration_run.h"
#include "core/first_bad.h"
#include "core/placed_error.h"
#include "likewise/error.h"
#include "retrieval/top_k.h"

namespace likewise {

std::string default_metric(bool predicts_ratings) { return predicts_ratings ? "rmse" : "ndcg@10"; }

NamedMetric usual_metric(const ResolvedRun& run, const Model& model) {
  return parse_metric(run.validation_metric.empty() ? default_metric(model.predicts_ratings())
                                                    : run.validation_metric);
}

std::string validated_among(const ResolvedRun& run) {
  if (run.validation_candidates != nullptr) return "candidates";
  return run.validation_negatives > 0 ? fmt::format("{} negatives", run.validation_negatives) : "";
}

void check_validation(const ResolvedRun& run) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); };
  if (run.validation_candidates != nullptr && run.validation_negatives != 0) {
    refuse(
        "validation candidates and validation negatives exclude each other: both say what is "
        "ranked");
  }
  if (run.validation != nullptr) return;
  if (run.validation_candidates != nullptr) refuse("validation candidates need validation data");
  if (run.validation_negatives != 0) {
    refuse(fmt::format("{} validation negatives need validation data", run.validation_negatives));
  }
  if (!run.validation_metric.empty()) {
    refuse(fmt::format("validation metric {} needs validation data", run.validation_metric));
  }
}

void require_target_of_metric(double target, const std::string& metric) {
  if (metric.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("target {} needs a metric that says what it is of, as ndcg@10 or rmse",
                            target));
  }
  require_possible(parse_metric(metric), target);
}

void check_target(const ResolvedRun& run) {
  if (!run.target) return;
  if (run.validation == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("target {} needs validation data to be measured on", *run.target));
  }
  require_target_of_metric(*run.target, run.validation_metric);
}

Measure make_measure(const Model& model, const Device& device, const ResolvedRun& run) {
  auto scratch = std::make_shared<Model>();
  scratch->params = model.params;
  scratch->users = model.users.share();
  scratch->items = model.items.share();
  scratch->history = model.history.share();
  const auto test = std::make_shared<TestSet>(make_test_set(model, *run.validation));
  const auto candidates = std::make_shared<CsrMatrix>();
  if (run.validation_candidates != nullptr) {
    *candidates = make_test_set(model, *run.validation_candidates).by_user;
  }
  const NamedMetric metric = usual_metric(run, model);
  EvaluateOptions options;
  options.k = {metric.k};
  options.metrics = {metric.name};
  options.negatives = run.validation_negatives;
  // The view is of memory that `candidates` keeps.
  const auto view = std::make_shared<CsrView>(candidates->view());
  if (run.validation_candidates != nullptr) options.candidates = view.get();
  const MetricNeeds needs = needs_of(model, options);
  for (const Job job : evaluation_jobs(model, options)) device.require(job);
  if (needs.ranking && !model.ranks_items()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("validation metric {}: {} with baseline {} predicts the same for all "
                    "items of a user; measure rmse",
                    metric.key, model.algorithm(), parameter_text(model.params, "baseline")));
  }
  const RunControl control{run.control.cancel != nullptr ? run.control.cancel : run.stop, {}};
  return [=, kept = candidates, kept_view = view](Learned& learned) {
    std::swap(scratch->learned, learned);
    double value = 0.0;
    try {
      const Recommender recommender(scratch, device);
      value = evaluate(recommender, *test, options, {}, control).metrics.at(metric.key);
    } catch (...) {
      std::swap(scratch->learned, learned);
      throw;
    }
    std::swap(scratch->learned, learned);
    return value;
  };
}

namespace {

/// Steps that are too long end beyond what lists are made of before they end beyond all numbers.
void require_not_diverged(const Factors& factors) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const auto bad =
        first_bad_number(factors.side(side).view(), [](float x) { return !is_in_range(x); });
    if (!bad) continue;
    throw PlacedError(ErrorKind::kNumerical, {{side, bad->row}},
                      [number = bad->number](std::span<const std::string> names) {
                        return fmt::format(
                            "training diverged: a factor of {} is {:g}; take a "
                            "smaller {}, or a larger {}",
                            names[0], number, mention("learning_rate"), mention("regularization"));
                      });
  }
}

}  // namespace

Validation make_validation(const Model& model, const Device& device, const ResolvedRun& run) {
  const NamedMetric metric = usual_metric(run, model);
  const Measure measure = make_measure(model, device, run);
  const auto of_factors = [measure](const Factors& factors) {
    require_not_diverged(factors);
    Learned learned = factors.share();
    return measure(learned);
  };
  return {metric.key, higher_is_better(metric.name), of_factors, run.target};
}

}  // namespace likewise
