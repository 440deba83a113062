// SPDX-License-Identifier: Apache-2.0
/// The inverse of a large symmetric positive definite matrix, in place and on all threads.
#pragma once

#include <span>

#include "likewise/control.h"
#include "likewise/matrix.h"

namespace likewise {

/// A = -A^-1 by sweeps (docs/reference/math.md, [38]): n^3 operations, as Cholesky and its inverse
/// need, all of them in products of blocks. Only the upper triangle of the n x n matrix is read and
/// written; two panels of 256 rows are all that it holds besides. Returns -1, or the first row
/// whose pivot is no more than `least_pivots` says or not finite: A is then not positive definite,
/// or singular to rounding. The bits do not depend on the number of threads. Reports blocks of rows
/// as `stage`. Errors: kCancelled, kOutOfMemory.
[[nodiscard]] Index negative_inverse(Matrix& a, std::span<const float> least_pivots,
                                     std::string_view stage, const RunControl& control);

}  // namespace likewise
