// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace likewise::cuda {

Offset available_bytes(Offset limit) {
  constexpr Offset kReserve = Offset{256} << 20;  // kernels, and what the driver sets aside
  std::size_t free = 0;
  std::size_t all = 0;
  LIKEWISE_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  const Offset available = std::max<Offset>(0, static_cast<Offset>(free) - kReserve);
  return limit > 0 ? std::min(limit, available) : available;
}

namespace detail {

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

}  // namespace detail
}  // namespace likewise::cuda
