// SPDX-License-Identifier: Apache-2.0
/// What the tuning of a training on a GPU depends on.
#pragma once

#include <algorithm>

#include "likewise/als.h"
#include "likewise/autotune.h"

namespace likewise {

struct AlsWork {
  Feedback feedback = Feedback::kImplicit;
  Precision precision = Precision::kFp16;  ///< never kAuto
  bool exact = false;                      ///< Cholesky, not conjugate gradients
  int width = 0;                           ///< unknowns of a row
  bool nonnegative = false;                ///< exact, in float32
};

/// The parameters with a precision for Precision::kAuto on so many interactions: float32 for few of
/// them, where it takes no time that counts and rounding would not cancel out.
[[nodiscard]] AlsParams resolve_precision(AlsParams params, Offset interactions);

/// What a training with these parameters is on a GPU. Precision::kAuto: whoever asks for exact
/// rows gets float32, others float16.
[[nodiscard]] AlsWork als_work(const AlsParams& params);

/// Rows of at most so many interactions are solved without a matrix, in whichever way.
[[nodiscard]] inline int rows_without_matrix(const AlsTuning& tuning) {
  return std::max(tuning.short_rows, tuning.held_rows);
}

}  // namespace likewise
