// SPDX-License-Identifier: Apache-2.0
/// The two inner loops of top-k: which items of a panel can matter, and the exact score of one.
///
/// A panel is kPanelItems items stored factor by factor: panel[j * kPanelItems + i] is factor j of
/// item i, so that vectors run over items and need no horizontal sums. 64-byte aligned.
#pragma once

#include <cstdint>

#include "likewise/types.h"

namespace likewise::kernels {

inline constexpr Index kPanelItems = 64;

/// Bit i of hits[q] tells whether  bias[i] + queries[q] . y_i >= thresholds[q],  computed in
/// float32 with one rounding per step at most twice that of a fused multiply-add. Scores stay in
/// registers.
void find_hits(const float* panel, const float* bias, Index factors, const float* const* queries,
               const float* thresholds, Index count, std::uint64_t* hits);

/// a . b in double precision over `length` floats, a multiple of 8 (products are then exact),
/// summed in one fixed order: the same bits on every instruction set.
[[nodiscard]] double exact_dot(const float* a, const float* b, Index length);

}  // namespace likewise::kernels
