// SPDX-License-Identifier: Apache-2.0
/// A training whose parameters and device are decided: what train() makes of a plan, and what a
/// search, which decides parameters itself, calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "likewise/training.h"

namespace likewise {

/// What goes with a training, and what a plan says of it besides.
struct ResolvedRun : TrainingRun {
  std::string validation_metric{};  ///< as parse_metric(); empty: ndcg@10, or rmse for ratings
  Index validation_negatives = 0;   ///< as ValidationRequest
  std::optional<double> target{};   ///< of `validation_metric`, which has to be named
  const Model* resume = nullptr;    ///< a checkpoint or model to go on from
  std::string choice{};             ///< for Provenance; what is resumed keeps its own
  std::vector<ParameterOrigin> origins{};  ///< the same
  /// Called once before anything is allocated, with what the device says it will take.
  std::function<void(const MemoryPlan&)> on_plan{};
};

/// As train() by a plan.
[[nodiscard]] Model train(const Interactions& data, const TrainingParams& params,
                          const Device& device, const ResolvedRun& run = {});

/// Whether train() could go on from `earlier` with these parameters, known before any data is read.
/// Throws Error(kInvalidArgument) naming what would have to change.
void require_resumable(const Model& earlier, const TrainingParams& params);

}  // namespace likewise
