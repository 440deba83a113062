// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/bias/bias.h"
#include "likewise/knn.h"

namespace likewise {

/// train_biases() where similarity or prediction has a use for them, else none: they cost more
/// than the neighbours of a small matrix.
[[nodiscard]] inline Biases needed_biases(const CsrView& by_user, const KnnParams& params,
                                          const RunControl& control) {
  return params.needs_biases() ? train_biases(by_user, params.bias_params(), control) : Biases{};
}

}  // namespace likewise
