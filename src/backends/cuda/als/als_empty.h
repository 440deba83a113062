// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/jobs/als.h"

namespace likewise::cuda {

/// Of a matrix without rows or columns: every row that there is has no entries, and a GPU has
/// nothing to do.
[[nodiscard]] std::unique_ptr<AlsSolver> make_empty_als_solver(const AlsParams& params,
                                                               Factors start);

}  // namespace likewise::cuda
