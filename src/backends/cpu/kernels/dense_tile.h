// SPDX-License-Identifier: Apache-2.0
/// A tile of a dense product from packed operands, in SIMD (Highway).
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// Rows of a tile, and its columns: 24 vectors of sums where a vector has 64 bytes.
constexpr Index kTileRows = 8;
template <class T>
constexpr Index kTileColumns = 192 / static_cast<Index>(sizeof(T));

/// c = or += sum_k a(k, i) b(k, j): `a` is k x kTileRows, `b` k x kTileColumns, 64-byte aligned.
/// One addition follows the other in the order of k, whatever the processor. T: float or double.
template <class T>
void multiply_tile(const T* a, const T* b, Index k, T* c, Offset c_stride, bool add);

/// c = or += sum_k rows[i][k] b(k, j) for kTileRows rows of `depth` numbers; b as above. The sum
/// over k is made from 0 before it is added to c: that takes depth + 1 roundings at most.
void multiply_rows(const float* const* rows, const float* b, Index depth, float* c, Offset c_stride,
                   bool add);

/// Some rows as a part of b: packed[k kTileColumns<float> + i] = rows[i][k] factors[i].
constexpr Index kPackedRows = 4;
void pack_rows(const float* const* rows, const float* factors, Index depth, float* packed);

/// to[i] = from[i], or its square. `count`: a multiple of 16. T: float or double.
template <class T>
void widen(const float* from, Offset count, bool squared, T* to);

}  // namespace likewise::kernels
