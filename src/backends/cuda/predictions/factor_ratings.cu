// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/check.h"
#include "backends/cuda/predictions/factor_ratings.h"
#include "backends/cuda/top_k/exact_score.cuh"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kTeams = kThreads / kTeamLanes;

/// A thread for each pair: the products are added in their order. Each is exact in double
/// precision, so fusing it with the addition changes nothing.
__global__ void __launch_bounds__(kThreads)
    pairs_kernel(const __grid_constant__ FactorTables tables, const Index* users,
                 const Index* items, Index count, float* out) {
  const auto p = static_cast<Index>(blockIdx.x * kThreads + threadIdx.x);
  if (p >= count) return;
  const Index user = users[p];
  const Index item = items[p];
  double sum = static_cast<double>(tables.mean);
  if (tables.user_bias != nullptr) sum += static_cast<double>(tables.user_bias[user]);
  if (tables.item_bias != nullptr) sum += static_cast<double>(tables.item_bias[item]);
  const float* const x = tables.users + Offset{user} * tables.pitch;
  const float* const y = tables.items + Offset{item} * tables.pitch;
  Index j = 0;
#pragma unroll 4
  for (; j + 4 <= tables.columns; j += 4) {
    const float4 a = *reinterpret_cast<const float4*>(x + j);
    const float4 b = *reinterpret_cast<const float4*>(y + j);
    sum = fma(static_cast<double>(a.x), static_cast<double>(b.x), sum);
    sum = fma(static_cast<double>(a.y), static_cast<double>(b.y), sum);
    sum = fma(static_cast<double>(a.z), static_cast<double>(b.z), sum);
    sum = fma(static_cast<double>(a.w), static_cast<double>(b.w), sum);
  }
  for (; j < tables.columns; ++j) {
    sum = fma(static_cast<double>(x[j]), static_cast<double>(y[j]), sum);
  }
  out[p] = static_cast<float>(sum);
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
  const ExactItems items{tables.items,      tables.item_bias, nullptr,
                         tables.item_count, tables.pitch,     false};
  const auto team = static_cast<Index>(blockIdx.x * kTeams + threadIdx.x / kTeamLanes);
  for (Index item = team; item < tables.item_count;
       item += static_cast<Index>(gridDim.x) * kTeams) {
    const float score = exact_score(items, query, item);
    if (threadIdx.x % kTeamLanes == 0) {
      out[Offset{n} * tables.item_count + item] =
          static_cast<float>(own[n] + static_cast<double>(score));
    }
  }
}

}  // namespace

void rate_pairs(const FactorTables& tables, const Index* users, const Index* items, Index count,
                float* out, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count - 1) / kThreads + 1);
  pairs_kernel<<<blocks, kThreads, 0, stream>>>(tables, users, items, count, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void rate_rows(const FactorTables& tables, const Index* users, const double* own, Index count,
               float* out, cudaStream_t stream) {
  if (count == 0 || tables.item_count == 0) return;
  const dim3 grid(
      static_cast<unsigned>(std::min<Index>(1024, (tables.item_count - 1) / kTeams + 1)),
      static_cast<unsigned>(count));
  rows_kernel<<<grid, kThreads, static_cast<std::size_t>(tables.pitch) * sizeof(float), stream>>>(
      tables, users, own, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
