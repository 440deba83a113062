// SPDX-License-Identifier: Apache-2.0
/// Products of float32 rows, and distances between them, on the calling thread.
#pragma once

#include <algorithm>
#include <span>

#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise::kernels {

// In double precision over `length` floats, a multiple of 8 (products are then exact), summed in
// one fixed order: the same bits on every instruction set and every device.

/// out[p] = a[p] . b[p] for `count` pairs.
void exact_dot_pairs(const float* const* a, const float* const* b, Index length, Index count,
                     double* out);
/// out[r] = query . (rows + r * stride) for `count` rows.
void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out);
/// out[r] = query . row rows[r] of `m`, which `query` is as long and as padded as.
void exact_dots_of(const float* query, const MatrixView& m, std::span<const Index> rows,
                   double* out);

/// out[p] = |a[p] - b[p]|^2, as ScoreKind says.
void exact_squared_distance_pairs(const float* const* a, const float* const* b, Index length,
                                  Index count, double* out);
/// out[r] = |query - (rows + r * stride)|^2.
void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out);

/// Row `row` of `m` times itself.
[[nodiscard]] inline double exact_square(const MatrixView& m, Index row) {
  double square = 0.0;
  exact_dots_of(m.row(row), m, std::span(&row, 1), &square);
  return square;
}

/// use(e, query . row rows[e] of `m`) for every e, in their order.
template <class Use>
void for_exact_dots(const float* query, const MatrixView& m, std::span<const Index> rows,
                    const Use& use) {
  constexpr std::size_t kRows = 256;  // at a time
  double products[kRows];
  for (std::size_t first = 0; first < rows.size(); first += kRows) {
    const auto some = rows.subspan(first, std::min(kRows, rows.size() - first));
    exact_dots_of(query, m, some, products);
    for (std::size_t e = 0; e < some.size(); ++e) use(first + e, products[e]);
  }
}

}  // namespace likewise::kernels
