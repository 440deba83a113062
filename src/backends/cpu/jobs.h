// SPDX-License-Identifier: Apache-2.0
/// The jobs of the CPU backend.
#pragma once

#include <memory>
#include <span>

#include "likewise/als.h"
#include "likewise/backend.h"

namespace likewise {

struct ScanCounts;

/// Packs the items once (O(items x factors)). `items` and `item_bias` must outlive the scorer, and
/// so must `counts` (benchmarks and tests: how much work was skipped) where it is given.
[[nodiscard]] std::unique_ptr<Scorer> make_cpu_scorer(const MatrixView& items,
                                                      std::span<const float> item_bias,
                                                      ScanCounts* counts = nullptr);

/// The solver copies `start`; `by_user` must outlive it.
[[nodiscard]] std::unique_ptr<AlsSolver> make_cpu_als_solver(const CsrView& by_user,
                                                             const AlsParams& params,
                                                             const Factors& start);

}  // namespace likewise
