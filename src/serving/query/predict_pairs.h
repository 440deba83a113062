// SPDX-License-Identifier: Apache-2.0
/// Predictions of the pairs of a file, whose users and items the model may not know.
#pragma once

#include "likewise/query.h"

namespace likewise {

[[nodiscard]] PairPredictions predict_pairs(const Recommender& recommender, const Pairs& pairs,
                                            const Visitors& visitors, const RunControl& control);

}  // namespace likewise
