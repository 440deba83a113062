// SPDX-License-Identifier: Apache-2.0
/// What stands around the passes of als_passes.h: a row's weights, and short vector operations. One
/// text for every instruction set (Highway).
///
/// Short vectors have `n` floats (a multiple of 16, 64-byte aligned), zero beyond the width.
#pragma once

#include "algorithms/als/cell_weights.h"
#include "likewise/als.h"
#include "likewise/types.h"

namespace likewise::kernels {

/// How values become weights (algorithms/cell_weights.h), in a form made for loops.
struct Weighing {
  CellForm form = CellForm::kLinear;
  float alpha = 1.0F;
  float inverse_epsilon = 1.0F;
  float mean = 0.0F;            ///< kExplicit: target = value - mean - bias[column]
  const float* bias = nullptr;  ///< may be null

  [[nodiscard]] static Weighing of(const AlsParams& params);
};

/// Writes w, v and the padded copy of the columns for `count` interactions; the outputs hold
/// padded_tiles(count). Returns the sum of the cells' constants.
double weigh(const Weighing& how, const Index* columns, const float* values, Offset count,
             Index* padded_columns, float* w, float* v);

/// out = a b; returns sum a b b.
double scale_square(const float* a, const float* b, float* out, Index n);
/// y += a x
void axpy(float a, const float* x, float* y, Index n);
/// sum a x x
double weighted_square(const float* a, const float* x, Index n);
/// sum x y
double dot(const float* x, const float* y, Index n);
/// p = a r + beta p
void next_direction(const float* a, const float* r, float beta, float* p, Index n);

}  // namespace likewise::kernels
