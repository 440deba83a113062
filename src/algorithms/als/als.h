// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "algorithms/iteration_run.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/matrix.h"

namespace likewise {

inline constexpr AlgorithmRow kAlsRow = algorithm_row<AlsParams>("als", "matrix factorisation");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const AlsParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_als(const AlsParams& params, const UpdateTask& task);

/// Trains on `by_user` (users x items). Deterministic in (matrix, params): neither threads nor the
/// order of rows in the file matter. Rows without entries get zero factors (and zero bias) and
/// change nothing for the others. Errors: kInvalidArgument (params, shapes of `start`), kBadData
/// (names a value that cannot be computed with, or not on this device), kNumerical (names side, row
/// and count), kCancelled, kOutOfMemory, kDevice.
[[nodiscard]] IterationResult train_als(const CsrView& by_user, const AlsParams& params,
                                        const Device& device, const IterationRun& run = {});

/// The first factors of a side: row r is drawn from a counter-based generator keyed by
/// (seed, side, r), so every device, thread count and GPU count starts alike.
[[nodiscard]] Matrix draw_factors(Side side, Index rows, const AlsParams& params);

/// Rows [first, first + count) of them.
[[nodiscard]] Matrix draw_factor_rows(Side side, Index first, Index count, const AlsParams& params);

}  // namespace likewise
