// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// out[i] = ((parts[0][i] + parts[1][i]) + parts[2][i]) + ..., where parts[p] are the `count`
/// numbers from p * count on.
void add_parts(const double* parts, int how_many, Offset count, double* out, cudaStream_t stream);

}  // namespace likewise::cuda
