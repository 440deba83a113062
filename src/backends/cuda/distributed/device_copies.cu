// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/distributed/device_copies.h"

namespace likewise::cuda {
namespace {

constexpr int kCopyBlock = 512;
constexpr int kMostCopies = 8;  // of a launch
constexpr Offset kWord = sizeof(uint4);
constexpr Offset kShort = Offset{1} << 20;

struct Copies {
  DeviceCopy all[kMostCopies];
};

/// A link of 400 GB/s that answers within 1.5 us wants 600 kB on their way: a block of each
/// multiprocessor asks for 32 kB.
__global__ void __launch_bounds__(kCopyBlock) copy_kernel(const __grid_constant__ Copies copies) {
  constexpr int kAhead = 4;
  const DeviceCopy& copy = copies.all[blockIdx.y];
  const auto* from = reinterpret_cast<const uint4*>(copy.from);
  auto* to = reinterpret_cast<uint4*>(copy.to);
  const Offset words = copy.bytes / kWord;
  const Offset step = Offset{gridDim.x} * kCopyBlock;
  for (Offset i = Offset{blockIdx.x} * kCopyBlock + threadIdx.x; i < words; i += kAhead * step) {
    uint4 word[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (i + k * step < words) word[k] = from[i + k * step];
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (i + k * step < words) to[i + k * step] = word[k];
    }
  }
}

[[nodiscard]] bool is_aligned(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(kWord) == 0;
}

}  // namespace

void copy_in_turn(const std::vector<DeviceCopy>& copies, cudaStream_t stream) {
  for (const DeviceCopy& copy : copies) {
    LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.bytes),
                                        cudaMemcpyDefault, stream));
  }
}

bool better_at_once(const std::vector<DeviceCopy>& copies) {
  const auto fits = [](const DeviceCopy& copy) {
    return copy.bytes % kWord == 0 && is_aligned(copy.from) && is_aligned(copy.to);
  };
  if (!std::ranges::all_of(copies, fits)) return false;
  return copies.size() > 1 || (copies.size() == 1 && copies.front().bytes <= kShort);
}

void copy_at_once(const std::vector<DeviceCopy>& copies, cudaStream_t stream) {
  for (std::size_t first = 0; first < copies.size(); first += kMostCopies) {
    const std::size_t count = std::min<std::size_t>(kMostCopies, copies.size() - first);
    Copies some;
    std::copy_n(copies.begin() + static_cast<std::ptrdiff_t>(first), count, some.all);
    Offset most = 0;
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, some.all[i].bytes);
    if (most == 0) continue;
    const Offset share = std::max(1, multiprocessor_count() / static_cast<int>(count));
    const Offset blocks = std::min(share, (most / kWord + kCopyBlock - 1) / kCopyBlock);
    copy_kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(count)), kCopyBlock, 0,
                  stream>>>(some);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
}

}  // namespace likewise::cuda
