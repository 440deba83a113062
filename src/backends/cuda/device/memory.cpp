// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/memory.h"

#include <fmt/format.h>

namespace likewise::cuda::detail {

void* DeviceAllocation::take(std::size_t bytes) {
  void* at = nullptr;
  const cudaError_t status = cudaMalloc(&at, bytes);
  if (status != cudaSuccess) {
    throw_cuda_error(status, "cudaMalloc", __FILE__, __LINE__,
                     fmt::format("{} bytes", bytes).c_str());
  }
  return at;
}

void DeviceAllocation::release(void* at) noexcept {
  if (at != nullptr) cudaFree(at);
}

void* PinnedAllocation::take(std::size_t bytes) {
  void* at = nullptr;
  const cudaError_t status = cudaMallocHost(&at, bytes);
  if (status != cudaSuccess) {
    throw_cuda_error(status, "cudaMallocHost", __FILE__, __LINE__,
                     fmt::format("{} bytes", bytes).c_str());
  }
  return at;
}

void PinnedAllocation::release(void* at) noexcept {
  if (at != nullptr) cudaFreeHost(at);
}

}  // namespace likewise::cuda::detail
