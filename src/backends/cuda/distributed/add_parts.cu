// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/check.h"
#include "backends/cuda/distributed/add_parts.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;

__global__ void add_parts_kernel(const double* __restrict__ parts, int how_many, Offset count,
                                 double* __restrict__ out) {
  const Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= count) return;
  double sum = parts[i];
  for (int part = 1; part < how_many; ++part) sum += parts[part * count + i];
  out[i] = sum;
}

}  // namespace

void add_parts(const double* parts, int how_many, Offset count, double* out, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kBlock - 1) / kBlock);
  add_parts_kernel<<<blocks, kBlock, 0, stream>>>(parts, how_many, count, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
