// SPDX-License-Identifier: Apache-2.0
/// SIMD passes over the interactions of one row in an ALS half-step. One text for every instruction
/// set (Highway).
///
/// All vectors have `stride` floats (a multiple of 16, 64-byte aligned), zero beyond the width.
#pragma once

#include <cstdint>

#include "likewise/types.h"

namespace likewise::kernels {

/// Interactions that a pass takes at a time; what a segment is padded to.
inline constexpr Offset kPassRows = 8;

[[nodiscard]] constexpr Offset padded_tiles(Offset count) {
  return (count + kPassRows - 1) / kPassRows * kPassRows;
}

/// Rows of the fixed side as they are stored, `stride` numbers each: in float32 or in float16.
struct StoredRows {
  const float* floats = nullptr;
  const std::uint16_t* halves = nullptr;  ///< the bits of float16; null where `floats` is not
  Index cols = 0;
  Index stride = 0;

  [[nodiscard]] Offset row_bytes() const { return Offset{stride} * (halves != nullptr ? 2 : 4); }
};

/// A run of interactions of one row, padded with column 0 and w = v = 0 to whole tiles.
struct Segment {
  StoredRows rows;  ///< the fixed side; interaction i meets row columns[i]
  const Index* columns = nullptr;
  const float* w = nullptr;
  const float* v = nullptr;
  Offset padded = 0;  ///< multiple of kPassRows
};

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

/// out = the rows that interactions [first, first + count) meet, in float32, `stride` numbers each.
void copy_rows(const Segment& s, Offset first, Offset count, float* out);

/// to = the bits of `scale` from[i] in float16, rounded to the nearest. `count`: a multiple of 16. Both are
/// aligned, as Array.
void store_float16(const float* from, float scale, Offset count, std::uint16_t* to);
/// Whether this processor's instructions convert float16; else it takes several for each.
[[nodiscard]] bool converts_float16();

/// The Highway target that these kernels run on, from inside the dispatched code.
[[nodiscard]] std::int64_t passes_target();

}  // namespace likewise::kernels
