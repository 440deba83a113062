// SPDX-License-Identifier: Apache-2.0
/// What the current GPU can do.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/check.h"

namespace likewise::cuda {

[[nodiscard]] inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  LIKEWISE_CUDA_CHECK(cudaGetDevice(&device));
  LIKEWISE_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

[[nodiscard]] inline int multiprocessor_count() {
  return device_attribute(cudaDevAttrMultiProcessorCount);
}

/// Bytes of shared memory that a block gets at most, when its kernel asks for them.
[[nodiscard]] inline int largest_shared_memory() {
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

}  // namespace likewise::cuda
