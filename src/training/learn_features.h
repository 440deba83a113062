// SPDX-License-Identifier: Apache-2.0
/// Tags of a model's rows, and what is learned of them.
#pragma once

#include "likewise/features.h"
#include "likewise/model.h"

namespace likewise {

/// What add_features() does once `features` has tags and weights of all rows of the model.
LearnedFeatures learn_features(Model& model, Side side, Features features,
                               const FeatureLearning& learning, const RunControl& control);

}  // namespace likewise
