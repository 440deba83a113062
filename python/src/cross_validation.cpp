// SPDX-License-Identifier: Apache-2.0
#include "likewise/cross_validation.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background.h"
#include "features.h"
#include "interactions.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] nb::dict as_dict(const FoldResult& fold) {
  nb::dict result;
  result["algorithm"] = fold.algorithm;
  result["trained"] = fold.trained;
  result["tested"] = fold.tested;
  result["users_evaluated"] = fold.report.users_evaluated;
  result["users_not_ranked"] = fold.users_not_ranked;
  result["pairs_evaluated"] = fold.report.pairs_evaluated;
  result["seconds"] = fold.seconds;
  result["metrics"] = fold.report.metrics;
  return result;
}

/// ({metric: (mean, deviation, least, most)}, [folds])
[[nodiscard]] nb::tuple validate_on_folds(
    const Data& data, const nb::dict& given, const nb::object& device, int threads, int folds,
    int rolling, double test, const std::optional<std::string>& at, std::uint64_t seed,
    const std::vector<Index>& k, const std::vector<std::string>& metrics, float min_relevant_value,
    std::optional<bool> clip, const nb::tuple& features, const nb::object& progress) {
  CrossValidationRequest request{.training = request_of(given)};
  ask_for(device, request.training);
  request.training.has_lists = true;
  request.parts.method = rolling != 0 ? SplitMethod::kTime : SplitMethod::kKFold;
  request.parts.folds = folds;
  request.parts.rolling = rolling;
  request.parts.test = test;
  request.parts.seed = seed;
  if (at) request.parts.at = moment_of("at", *at);
  request.evaluation = {.k = k, .metrics = metrics, .min_relevant_value = min_relevant_value};
  request.clip = clip;
  const FeatureTables tables = tables_of(features);
  request.features = tables.empty() ? nullptr : &tables;
  const CrossValidation found =
      in_background(true, threads, progress, [&](const RunControl& control) {
        return cross_validate(request, *data.interactions, control);
      });
  nb::dict over;
  for (const auto& [name, one] : found.metrics) {
    over[name.c_str()] = nb::make_tuple(one.mean, one.deviation, one.least, one.most);
  }
  nb::list all;
  for (const FoldResult& fold : found.folds) all.append(as_dict(fold));
  return nb::make_tuple(over, all);
}

}  // namespace

void bind_cross_validation(nb::module_& module) {
  module.def("cross_validate", &validate_on_folds, "data"_a, "params"_a, "device"_a, "threads"_a,
             "folds"_a, "rolling"_a, "test"_a, "at"_a.none(), "seed"_a, "k"_a, "metrics"_a,
             "min_relevant_value"_a, "clip"_a.none(), "features"_a, "progress"_a = nb::none());
}

}  // namespace likewise::python
