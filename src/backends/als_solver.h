// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/als.h"

namespace likewise {

/// Whether a training solves all rows exactly: with kCholesky, and with kAuto where that costs
/// nothing, or where an error that the objective does not show would grow (docs/math.md, "How the
/// rows are solved").
[[nodiscard]] bool solves_exactly(const AlsParams& params, const AlsShape& shape);

/// The same for a GPU, as a solver: kCholesky, or what `params` say. Other than the processor, a
/// GPU solves all rows by one strategy, and cannot take another for a row that rounding makes
/// singular.
[[nodiscard]] AlsParams settle_solver(AlsParams params, const AlsShape& shape);

}  // namespace likewise
