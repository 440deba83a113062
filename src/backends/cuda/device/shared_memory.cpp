// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/shared_memory.h"

#include <map>
#include <mutex>
#include <utility>

#include "backends/cuda/device/check.h"

namespace likewise::cuda {

void allow_shared_memory(const void* kernel, int bytes) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, int> allowed;
  int device = 0;
  LIKEWISE_CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  int& now = allowed[{kernel, device}];
  if (bytes <= now) return;
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  now = bytes;
}

}  // namespace likewise::cuda
