// SPDX-License-Identifier: Apache-2.0
/// Measuring a model while it is trained.
#pragma once

#include "likewise/evaluation.h"
#include "likewise/training.h"

namespace likewise {

/// The metric that `run` asks for: ndcg@10, or rmse for ratings, where it names none.
[[nodiscard]] NamedMetric usual_metric(const TrainingRun& run, Feedback feedback);

/// Throws Error(kInvalidArgument) for a target that nothing measures, or that the metric cannot
/// have.
void check_target(const TrainingRun& run);

/// Measures factors for `model`, which has all but them, on run.validation. Ids and history are
/// shared with the model. Throws Error(kDevice) where the device lacks what the metric needs.
[[nodiscard]] Validation make_validation(const Model& model, const Device& device,
                                         const TrainingRun& run);

}  // namespace likewise
