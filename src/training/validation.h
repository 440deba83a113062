// SPDX-License-Identifier: Apache-2.0
/// Measuring a model while it is trained, or once it is.
#pragma once

#include <functional>
#include <string>

#include "algorithms/iteration_run.h"
#include "likewise/evaluation.h"
#include "training/train.h"

namespace likewise {

/// What is measured where nobody says what: "rmse" of predicted ratings, else "ndcg@10".
[[nodiscard]] std::string default_metric(bool predicts_ratings);

/// The metric that `run` asks for, or the default one.
[[nodiscard]] NamedMetric usual_metric(const ResolvedRun& run, const Model& model);

/// As Model::validation_among.
[[nodiscard]] std::string validated_among(const ResolvedRun& run);

/// Throws Error(kInvalidArgument) for members of `run` that need validation data, where there are
/// none, and for candidates and negatives together.
void check_validation(const ResolvedRun& run);

/// Throws Error(kInvalidArgument) for a target of no metric, or that the metric cannot have.
void require_target_of_metric(double target, const std::string& metric);

/// Throws Error(kInvalidArgument) for a target that nothing measures, or that the metric cannot
/// have.
void check_target(const ResolvedRun& run);

/// Measures what was learned, which is lent and comes back as it was.
using Measure = std::function<double(Learned&)>;

/// For `model`, which has all but what is to be learned, on run.validation. Ids and history are
/// shared with the model. Throws Error(kDevice) where the device lacks what the metric needs, and
/// Error(kInvalidArgument) where the model has no such metric.
[[nodiscard]] Measure make_measure(const Model& model, const Device& device,
                                   const ResolvedRun& run);

/// The same for factors between iterations.
[[nodiscard]] Validation make_validation(const Model& model, const Device& device,
                                         const ResolvedRun& run);

}  // namespace likewise
