// SPDX-License-Identifier: Apache-2.0
/// What an answer of ALS is held to, in float64 and apart from every backend.
#pragma once

#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"

namespace likewise::test {

/// The first factors, drawn from the seed.
[[nodiscard]] Factors first_factors(const CsrView& by_user, const AlsParams& params);

/// Factors in the middle of training: one exact iteration from the first ones, or these where that
/// takes long.
[[nodiscard]] Factors trained_factors(const CsrView& by_user, const AlsParams& params);

/// What the reference does in a half-step, in multiplications.
[[nodiscard]] double reference_work(const CsrView& by_user, Side side, const AlsParams& params);

/// The objective as math.md writes it.
[[nodiscard]] double als_objective(const CsrView& by_user, const Factors& factors,
                                   const AlsParams& params);

/// The objective of zero factors and biases.
[[nodiscard]] double als_objective_of_nothing(const CsrView& by_user, const Factors& factors,
                                              const AlsParams& params);

/// The objective's derivative by a row's unknowns, in float64: its length over the sum of the
/// lengths of its terms. The largest over the rows of a side with entries: 0 where all rows are
/// solved exactly.
[[nodiscard]] double worst_gradient(const CsrView& by_user, const Factors& factors, Side side,
                                    const AlsParams& params);

/// |a - b| / |b| over the factors and biases of a side.
[[nodiscard]] double relative_difference(const Factors& a, const Factors& b, Side side);

/// Whether all factors and biases of both sides are the same numbers.
[[nodiscard]] bool same_factors(const Factors& a, const Factors& b);

/// Fails the test where a row without entries is not zero, or the padding of a row is not.
void expect_zero_where_empty(const CsrView& by_user, const Factors& factors, Side side);

}  // namespace likewise::test
