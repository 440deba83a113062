// SPDX-License-Identifier: Apache-2.0
/// What the parts of an ALS training on a card share.
#pragma once

#include "backends/cuda/als_matrix.h"
#include "backends/cuda/device/memory.h"
#include "likewise/als.h"
#include "likewise/autotune.h"

namespace likewise::cuda {

/// How a training goes, settled before it begins.
struct AlsSetup {
  AlsSetup(const AlsParams& given, const AlsTuning& chosen);

  AlsParams params;
  AlsTuning tuning;
  bool exact;           ///< Cholesky, not conjugate gradients
  Precision precision;  ///< never kAuto
  int width;            ///< unknowns of a row
  bool biased;          ///< the last of them is a bias
  int padded;           ///< columns of the tables

  [[nodiscard]] bool is_explicit() const { return params.feedback == Feedback::kExplicit; }
};

/// Users or items.
struct AlsSide {
  DeviceRows rows;
  RowPlan plan;
  DeviceArray<float> table;  ///< rows x padded: the factors, with a 1 behind them where biased
  DeviceArray<float> bias;
};

}  // namespace likewise::cuda
