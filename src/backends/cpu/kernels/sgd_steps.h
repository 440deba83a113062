// SPDX-License-Identifier: Apache-2.0
/// Steps of SGD over a run of ratings (math.md, "SGD"). One text for every instruction set
/// (Highway).
#pragma once

#include <span>

#include "algorithms/sgd/grid.h"
#include "likewise/types.h"

namespace likewise::kernels {

/// One side's numbers, by the numbers of the entries.
struct SgdRows {
  float* factors = nullptr;           ///< rows x stride, 64-byte aligned, zero beyond the width
  float* bias = nullptr;              ///< or null: there are none
  const float* decay = nullptr;       ///< lambda of one rating of the row
  const float* bias_decay = nullptr;  ///< the same of its bias
  float* squares = nullptr;           ///< sums of the gradients' mean squares; null: not adaptive
};

struct SgdRun {
  std::span<const SgdEntry> entries;
  SgdRows users;
  SgdRows items;
  Index stride = 0;
  float mean = 0.0F;
  float rate = 0.0F;          ///< of factors
  float bias_rate = 0.0F;     ///< of biases
  float square_scale = 0.0F;  ///< of a gradient's square, when it is added to `squares`
  bool logistic = false;
  bool moves_items = true;   ///< else only the users' side changes
  bool bounded = false;      ///< steps that reach too far are shortened (step_reach)
  bool nonnegative = false;  ///< steps of factors end at 0
};

/// One step for each entry, in their order. Returns the sum of the losses just before each.
/// Entries of one user should follow each other. Other threads must not touch the rows meanwhile,
/// unless the caller declares a race.
double take_sgd_steps(const SgdRun& run);

}  // namespace likewise::kernels
