// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/linalg/fixed_sum.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;

/// The sum over the block in thread 0, always added in the same order.
__device__ double block_sum(double x) {
  __shared__ double warps[kBlock / 32];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  double total = 0.0;
  for (const double warp : warps) total += warp;
  return total;
}

__global__ void sum_kernel(const double* values, Offset count, double* out) {
  double sum = 0.0;
  const Offset stride = Offset{gridDim.x} * kBlock;
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < count; i += stride) {
    sum += values[i];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

}  // namespace

void FixedSum::run(const double* values, Offset count, double* partial, double* out,
                   cudaStream_t stream) {
  sum_kernel<<<kBlocks, kBlock, 0, stream>>>(values, count, partial);
  sum_kernel<<<1, kBlock, 0, stream>>>(partial, kBlocks, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
