// SPDX-License-Identifier: Apache-2.0
/// Checkpoints: training under way as a model file, and how it goes on.
#pragma once

#include <string>

#include "algorithms/iteration_run.h"
#include "likewise/interactions.h"
#include "likewise/model.h"

namespace likewise {

/// Saves training under way as a model file: everything of `model` but what `state` says. Its
/// factors are those of the best iteration so far; where that is not the newest, the newest's are
/// kept with them, to go on from. Nothing is copied. Same errors as save_model.
void save_checkpoint(const Model& model, const TrainingState& state, const std::string& path);

/// Throws Error(kInvalidArgument) where there is a file with content that is no model: a checkpoint
/// would take its place.
void refuse_other_files(const std::string& path);

/// Lets `run` go on where `model` stands: from its newest factors (borrowed), with the reports of
/// the iterations done to reach them and the best one so far. Same parameters and data: the same
/// answer as training without a break.
void resume_from(const Model& model, IterationRun& run);

/// Throws Error(kInvalidArgument) naming the first difference unless `data` has exactly the users
/// and items of `model`, so that its factors can go on with `data`.
void require_same_ids(const Model& model, const Interactions& data);

void save_checkpoint(const Model& model, const TrainingState& state, HeldFile& file);

}  // namespace likewise
