// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/matrix.h"

namespace likewise {

/// scale Y^T Y in double precision, row-major cols x cols, both triangles. Deterministic.
[[nodiscard]] std::vector<double> scaled_gram(const MatrixView& y, double scale);

/// upper += scale v v^T, upper triangle of a row-major matrix.
void add_outer_product(std::vector<double>& upper, const std::vector<double>& v, double scale);

}  // namespace likewise
