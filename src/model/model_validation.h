// SPDX-License-Identifier: Apache-2.0
/// The rules of a valid model, also while its factors belong to a training in progress.
#pragma once

#include <span>

#include "likewise/model.h"

namespace likewise {

/// What training produces for a model.
struct Learned {
  const Factors& factors;
  const Factors* last = nullptr;  ///< of the newest iteration, where another is the best
  std::span<const Iteration> iterations;
  int best_iteration = 0;
};

/// The model's own.
[[nodiscard]] inline Learned learned_by(const Model& model) {
  return {model.factors, model.last ? &*model.last : nullptr, model.iterations,
          model.best_iteration};
}

/// Model::validate() with `learned` in place of the model's own.
void validate_parts(const Model& model, const Learned& learned);

}  // namespace likewise
