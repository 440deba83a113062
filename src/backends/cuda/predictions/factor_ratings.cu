// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/check.h"
#include "backends/cuda/predictions/factor_ratings.h"
#include "backends/cuda/top_k/exact_score.cuh"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kGroups = kThreads / kGroupLanes;

[[nodiscard]] __device__ __forceinline__ ExactItems items_of(const FactorTables& tables) {
  return {tables.items, tables.item_bias, nullptr, tables.item_count, tables.pitch, false};
}

/// A group of eight lanes for each pair.
__global__ void __launch_bounds__(kThreads)
    pairs_kernel(const __grid_constant__ FactorTables tables, const Index* users,
                 const Index* items, Index count, float* out) {
  const auto p = static_cast<Index>(blockIdx.x * kGroups + threadIdx.x / kGroupLanes);
  if (p >= count) return;
  const Index user = users[p];
  const float* const query = tables.users + Offset{user} * tables.pitch;
  const float score = exact_score(items_of(tables), query, items[p]);
  if (threadIdx.x % kGroupLanes != 0) return;
  double own = static_cast<double>(tables.mean);
  if (tables.user_bias != nullptr) own += static_cast<double>(tables.user_bias[user]);
  out[p] = static_cast<float>(own + static_cast<double>(score));
}

/// A block scores a part of the items for one user, whose factors lie in shared memory.
__global__ void __launch_bounds__(kThreads)
    rows_kernel(const __grid_constant__ FactorTables tables, const Index* users, const double* own,
                float* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const query = reinterpret_cast<float*>(memory);
  const auto n = static_cast<Index>(blockIdx.y);
  const float* const from = tables.users + Offset{users[n]} * tables.pitch;
  for (auto j = static_cast<Index>(threadIdx.x); j < tables.pitch; j += kThreads) {
    query[j] = from[j];
  }
  __syncthreads();
  const ExactItems items = items_of(tables);
  const auto group = static_cast<Index>(blockIdx.x * kGroups + threadIdx.x / kGroupLanes);
  for (Index item = group; item < tables.item_count;
       item += static_cast<Index>(gridDim.x) * kGroups) {
    const float score = exact_score(items, query, item);
    if (threadIdx.x % kGroupLanes == 0) {
      out[Offset{n} * tables.item_count + item] =
          static_cast<float>(own[n] + static_cast<double>(score));
    }
  }
}

}  // namespace

void rate_pairs(const FactorTables& tables, const Index* users, const Index* items, Index count,
                float* out, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count - 1) / kGroups + 1);
  pairs_kernel<<<blocks, kThreads, 0, stream>>>(tables, users, items, count, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void rate_rows(const FactorTables& tables, const Index* users, const double* own, Index count,
               float* out, cudaStream_t stream) {
  if (count == 0 || tables.item_count == 0) return;
  const dim3 grid(
      static_cast<unsigned>(std::min<Index>(1024, (tables.item_count - 1) / kGroups + 1)),
      static_cast<unsigned>(count));
  rows_kernel<<<grid, kThreads, static_cast<std::size_t>(tables.pitch) * sizeof(float), stream>>>(
      tables, users, own, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
