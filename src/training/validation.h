// SPDX-License-Identifier: Apache-2.0
/// Measuring a model while it is trained.
#pragma once

#include "likewise/evaluation.h"
#include "likewise/training.h"

namespace likewise {

/// The metric that `run` asks for: ndcg@10, or rmse for ratings, where it names none.
[[nodiscard]] NamedMetric usual_metric(const TrainingRun& run, Feedback feedback);

/// Measures factors for `model`, which has all but them, on run.validation. `backend` must outlive
/// the result; ids and history are shared with the model.
[[nodiscard]] Validation make_validation(const Model& model, const Backend& backend,
                                         const TrainingRun& run);

}  // namespace likewise
