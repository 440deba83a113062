// SPDX-License-Identifier: Apache-2.0
/// Long rows of an ALS half-step, many in lockstep.
///
/// A row with more interactions than the cache holds would read its factor rows from memory in
/// every pass of conjugate gradients. Here a group of such rows makes each pass in lockstep,
/// walking over blocks of the fixed side that do fit: a block is read once and serves the whole
/// group. The result of a row does not depend on who shares its group.
#pragma once

#include <span>

#include "backends/cpu/als/als_row.h"
#include "likewise/control.h"
#include "likewise/csr.h"

namespace likewise {

/// Whether a row with `count` interactions is better solved here than alone.
[[nodiscard]] bool is_long_row(Offset count, Offset row_bytes);

/// Solves `rows` of `matrix` by conjugate gradients. Row i of `z` holds the start of rows[i] and
/// gets its solution, both in the fixed side's basis; objective[i] gets its part of the objective.
/// Returns the position of the first row that is not positive definite, or -1.
[[nodiscard]] Index solve_long_rows(const AlsRowContext& context, const CsrView& matrix,
                                    std::span<const Index> rows, Matrix& z,
                                    std::span<double> objective, const RunControl& control);

}  // namespace likewise
