// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// What B is made of: the n x n upper triangle of -Q' = -(d (S + L) d)^-1 in a (order x order), d_i
/// and n_i^(-s) of the items. Room for 2 order numbers.
struct EaseInverse {
  float* a = nullptr;
  Index order = 0;
  Index items = 0;
  const double* shrinks = nullptr;
  const double* of_row = nullptr;
  float* room = nullptr;
};

/// a = B, with zeros beyond the items:
///   B_ij = -n_i^(-s) d_i Q'_ij n_j^s / (d_j Q'_jj),  i other than j
void make_ease_weights(const EaseInverse& inverse, cudaStream_t stream);

}  // namespace likewise::cuda
