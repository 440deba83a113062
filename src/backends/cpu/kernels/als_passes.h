// SPDX-License-Identifier: Apache-2.0
/// SIMD passes over the interactions of one row in an ALS half-step, and the short vector
/// operations around them. One text for every instruction set (Highway).
///
/// All vectors have `stride` floats (a multiple of 16, 64-byte aligned), zero beyond the width.
#pragma once

#include <span>

#include "likewise/als.h"
#include "likewise/types.h"

namespace likewise::kernels {

/// Interactions that a pass takes at a time; what a segment is padded to.
inline constexpr Offset kTileRows = 8;

[[nodiscard]] constexpr Offset padded_tiles(Offset count) {
  return (count + kTileRows - 1) / kTileRows * kTileRows;
}

/// A run of interactions of one row, padded with column 0 and w = v = 0 to whole tiles.
struct Segment {
  const float* table = nullptr;  ///< the fixed side; interaction i meets row columns[i]
  Index stride = 0;
  const Index* columns = nullptr;
  const float* w = nullptr;
  const float* v = nullptr;
  Offset padded = 0;  ///< multiple of kTileRows
};

/// How values become weights (algorithms/weights.h), in a form made for loops.
struct Weighing {
  enum class Form { kLinear, kLog, kUnobserved, kExplicit };
  Form form = Form::kLinear;
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

/// Both sums that the start of CG needs besides the residual: z^T V^T W V z and v^T V z.
struct StartSums {
  double wqq = 0.0;
  double vq = 0.0;
};
/// r += sum_i (v_i - w_i q_i) y_i with q = V z.
StartSums add_residual(const Segment& s, const float* z, float* r);
/// product += sum_i w_i q_i y_i with q = V p; returns p^T V^T W V p.
double add_product(const Segment& s, const float* p, float* product);
/// p^T V^T W V p alone.
double curvature(const Segment& s, const float* p);
/// sum += sum_i c_i y_i.
void add_rows(const Segment& s, const float* c, float* sum);

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

/// Name of the instruction set that these kernels run on, from inside the dispatched code.
[[nodiscard]] const char* passes_target();

}  // namespace likewise::kernels
