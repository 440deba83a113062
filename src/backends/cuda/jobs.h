// SPDX-License-Identifier: Apache-2.0
/// The jobs of the CUDA backend.
#pragma once

#include <memory>

#include "backends/plugin.h"
#include "likewise/als.h"
#include "likewise/autotune.h"
#include "likewise/backend.h"

namespace likewise {

/// Trains on card number `device`. `by_user` must outlive the solver; `tuning` is one of
/// als_variants.h.
[[nodiscard]] std::unique_ptr<AlsSolver> make_cuda_als_solver(int device, const CsrView& by_user,
                                                              const AlsParams& params,
                                                              Factors start,
                                                              int completed_iterations,
                                                              const AlsTuning& tuning);

/// Searches on card number `device`, which `card` describes. `problem` must outlive the search.
[[nodiscard]] std::unique_ptr<NeighbourSearch> make_cuda_neighbour_search(
    int device, const CudaCard& card, const SimilarityProblem& problem);

}  // namespace likewise
