// SPDX-License-Identifier: Apache-2.0
/// Some columns of a matrix in float16, so that many weighted sums of its rows find them in a
/// cache. In SIMD (Highway), on the calling thread.
#pragma once

#include <cstdint>
#include <span>

#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise::kernels {

/// Numbers of a row of a panel.
inline constexpr Index kHalfColumns = 128;

/// Rows [begin, end) of the panel = the bits of `scale` times columns [first, first + kHalfColumns)
/// of these rows of x in float16, rounded to the nearest; what is beyond x keeps what it holds.
/// largest[i] becomes the size of a number of row i that passed, where that is larger. `first` is a
/// multiple of kHalfColumns, `panel` 64-byte aligned.
void pack_halves(const MatrixView& x, Index first, Index begin, Index end, float scale,
                 std::uint16_t* panel, float* largest);

/// out (kHalfColumns numbers, 64-byte aligned) = sum over the first `count` of `rows` of weights_e
/// times row rows_e of the panel, in their order, in float32; returns the largest. The other rows
/// are those of later calls, which are fetched meanwhile.
float sum_half_rows(std::span<const Index> rows, Offset count, const float* weights,
                    const std::uint16_t* panel, float* out);

}  // namespace likewise::kernels
