// SPDX-License-Identifier: Apache-2.0
/// Ratings from factors on the GPU; bit-identical to those of the CPU
/// (src/backends/cpu/predictions/predictions.cpp).
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// Rows padded with zeros to `pitch` numbers, a multiple of 64.
struct FactorTables {
  const float* users = nullptr;
  const float* items = nullptr;
  const float* user_bias = nullptr;  ///< null: none
  const float* item_bias = nullptr;
  float mean = 0.0F;
  Index item_count = 0;
  Index columns = 0;
  Index pitch = 0;
};

/// out[p] for users[p] and items[p].
void rate_pairs(const FactorTables& tables, const Index* users, const Index* items, Index count,
                float* out, cudaStream_t stream);

/// Every item for some users: out is count x items. own[u] is own_score() of users[u].
void rate_rows(const FactorTables& tables, const Index* users, const double* own, Index count,
               float* out, cudaStream_t stream);

}  // namespace likewise::cuda
