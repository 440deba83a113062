// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/split_float.cuh"
#include "backends/cuda/linalg/split_stack.h"

namespace likewise::cuda {
namespace {

constexpr int kSplitThreads = 256;

/// *largest (0 before) = the bits of the largest |number|.
__global__ void __launch_bounds__(kSplitThreads)
    find_largest(const float2* x, Offset pairs, unsigned* largest) {
  unsigned most = 0;
  const Offset step = Offset{gridDim.x} * kSplitThreads;
  for (Offset i = Offset{blockIdx.x} * kSplitThreads + threadIdx.x; i < pairs; i += step) {
    const float2 pair = x[i];
    most = max(most, max(magnitude_bits(pair.x), magnitude_bits(pair.y)));
  }
  most = __reduce_max_sync(0xFFFFFFFFU, most);
  if (threadIdx.x % 32 == 0 && most > 0) atomicMax(largest, most);
}

/// Parts `low` and two of `high`.
struct StackParts {
  unsigned* low;
  unsigned* high;
  unsigned* again;
};

__global__ void __launch_bounds__(kSplitThreads)
    split_numbers(const float2* x, Offset pairs, const unsigned* largest, StackParts to) {
  const float scale = split_scale(*largest);
  const Offset step = Offset{gridDim.x} * kSplitThreads;
  for (Offset i = Offset{blockIdx.x} * kSplitThreads + threadIdx.x; i < pairs; i += step) {
    const float2 pair = x[i];
    const SplitPair parts = split_pair(pair.x, pair.y, scale);
    to.low[i] = parts.low;
    to.high[i] = parts.high;
    to.again[i] = parts.high;
  }
}

__global__ void unscale(const unsigned* a, const unsigned* b, float sign, float* factor) {
  *factor = sign * inverse_scale(split_scale(*a)) * inverse_scale(split_scale(*b));
}

}  // namespace

void SplitStack::set(const float* x, Offset numbers, cudaStream_t stream) {
  const Offset pairs = numbers / 2;
  const auto blocks = static_cast<unsigned>(std::clamp<Offset>(
      (pairs + kSplitThreads - 1) / kSplitThreads, 1, Offset{8} * multiprocessor_count()));
  const auto* const from = reinterpret_cast<const float2*>(x);
  fill_zero(largest_.data(), 1, stream);
  find_largest<<<blocks, kSplitThreads, 0, stream>>>(from, pairs, largest_.data());
  auto* const part = reinterpret_cast<unsigned*>(parts_.data());
  const bool low_first = order_ == StackOrder::kLowHighHigh;
  const StackParts to{low_first ? part : part + pairs, low_first ? part + pairs : part,
                      part + 2 * pairs};
  split_numbers<<<blocks, kSplitThreads, 0, stream>>>(from, pairs, largest_.data(), to);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void unscale_product(const SplitStack& a, const SplitStack& b, float sign, float* factor,
                     cudaStream_t stream) {
  unscale<<<1, 1, 0, stream>>>(a.largest(), b.largest(), sign, factor);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
