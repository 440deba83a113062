// SPDX-License-Identifier: Apache-2.0
#include "likewise/evaluation.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background.h"
#include "interactions.h"
#include "model.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] nb::dict evaluate_model(const Trained& model, const Data& test,
                                      const nb::object& device, const std::vector<Index>& k,
                                      const std::vector<std::string>& metrics,
                                      float min_relevant_value, bool per_user, const Data* seen,
                                      const Data* candidates, Index negatives, std::uint64_t seed,
                                      std::optional<bool> clip, bool new_items, int threads,
                                      const nb::object& progress) {
  const Device chosen = device_for(device);
  EvaluateOptions options{k, metrics, per_user, min_relevant_value};
  options.negatives = negatives;
  options.seed = seed;
  std::vector<Index> cold;
  if (new_items) cold = rows_by_features(*model.model, Side::kItems);
  options.items = cold;
  const TestSet held_out = make_test_set(*model.model, *test.interactions);
  EvaluationReport report = in_background(true, threads, progress, [&](const RunControl& control) {
    const Recommender recommender(model.model, chosen, clip);
    CsrMatrix few;
    if (candidates != nullptr) few = make_test_set(*model.model, *candidates->interactions).by_user;
    const CsrView view = few.view();
    if (candidates != nullptr) options.candidates = &view;
    if (seen == nullptr) return evaluate(recommender, held_out, options, {}, control);
    const TestSet known = make_test_set(*model.model, *seen->interactions);
    return evaluate(recommender, held_out, options, known.by_user.view(), control);
  });
  nb::dict result;
  result["metrics"] = report.metrics;
  result["users_evaluated"] = report.users_evaluated;
  result["users_without_history"] = report.users_without_history;
  result["relevant_items"] = report.relevant_items;
  result["relevant_seen"] = report.relevant_seen;
  result["users_without_candidates"] = report.users_without_candidates;
  result["relevant_no_candidates"] = report.relevant_no_candidates;
  result["pairs_evaluated"] = report.pairs_evaluated;
  result["advice"] = seen == nullptr ? advice_on_history(*model.model, report) : std::string();
  result["unknown_users"] = held_out.unknown_users;
  result["unknown_items"] = held_out.unknown_items;
  result["users"] = give(Array<Index>::copy_of(report.users));
  nb::dict each;
  for (const auto& [name, values] : report.per_user) {
    each[name.c_str()] = give(Array<float>::copy_of(values));
  }
  result["per_user"] = each;
  return result;
}

/// (lists, ranking, ratings)
[[nodiscard]] nb::tuple needs_of_metrics(const Model& model,
                                         const std::vector<std::string>& metrics) {
  EvaluateOptions options;
  options.metrics = metrics;
  const MetricNeeds needs = needs_of(model, options);
  return nb::make_tuple(needs.lists, needs.ranking, needs.ratings);
}

}  // namespace

void bind_evaluation(nb::module_& module) {
  module.def("evaluate", &evaluate_model, "model"_a, "test"_a, "device"_a, "k"_a, "metrics"_a,
             "min_relevant_value"_a, "per_user"_a, "seen"_a = nb::none(),
             "candidates"_a = nb::none(), "negatives"_a = 0, "seed"_a = 42, "clip"_a = nb::none(),
             "new_items"_a = false, "threads"_a = 0, "progress"_a = nb::none());
  module.def(
      "advice_on_lists",
      [](const Trained& model) { return spelled(advice_on_lists(*model.model), as_keyword); },
      "model"_a);
  module.def(
      "metric_needs",
      [](const Trained& model, const std::vector<std::string>& metrics) {
        return needs_of_metrics(*model.model, metrics);
      },
      "model"_a, "metrics"_a);
  module.def(
      "metric_needs_of",
      [](const nb::dict& params, const std::vector<std::string>& metrics) {
        Model untrained;
        untrained.params = params_of(params);
        return needs_of_metrics(untrained, metrics);
      },
      "params"_a, "metrics"_a);
  module.def("metric_names", &metric_names);
  module.def("higher_is_better", &higher_is_better, "metric"_a);
}

}  // namespace likewise::python
