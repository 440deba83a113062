// SPDX-License-Identifier: Apache-2.0
/// The rules that a model keeps, for a model whose factors may live elsewhere (checkpoints).
#pragma once

#include <span>

#include "likewise/model.h"

namespace likewise {

/// Model::validate() with these factors and reports in place of the model's own.
void validate_parts(const Model& model, const Factors& factors,
                    std::span<const AlsIteration> iterations, int best_iteration);

}  // namespace likewise
