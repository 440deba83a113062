// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/matrix.h"

namespace likewise {

/// scale Y^T Y, row-major cols x cols, both triangles, summed in float64 throughout. Deterministic.
///
/// Training has core/dense.h's weighted_gram(), which sums blocks of rows in float32, at every
/// half-step. This one is made once per recommender, for fold-in and explanations: they promise the
/// minimum of the written objective to nine digits, and float32 sums give seven.
[[nodiscard]] std::vector<double> scaled_gram(const MatrixView& y, double scale);

/// upper += scale v v^T, upper triangle of a row-major matrix.
void add_outer_product(std::vector<double>& upper, const std::vector<double>& v, double scale);

}  // namespace likewise
