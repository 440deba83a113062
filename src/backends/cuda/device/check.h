// SPDX-License-Identifier: Apache-2.0
/// Turns the status of CUDA calls into Error(kDevice) naming the call, the place and the reason.
#pragma once

#include <cuda_runtime_api.h>

namespace likewise::cuda {

/// Throws Error(kDevice), or Error(kOutOfMemory) when the GPU has no memory left. `detail` (may be
/// null) adds what the call was for, e.g. the sizes.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line,
                                   const char* detail = nullptr);

}  // namespace likewise::cuda

#define LIKEWISE_CUDA_CHECK(call)                                                      \
  do {                                                                                 \
    const cudaError_t likewise_status_ = (call);                                       \
    if (likewise_status_ != cudaSuccess) {                                             \
      ::likewise::cuda::throw_cuda_error(likewise_status_, #call, __FILE__, __LINE__); \
    }                                                                                  \
  } while (false)

/// After a kernel launch: bad configurations show here.
#define LIKEWISE_CUDA_CHECK_LAUNCH() LIKEWISE_CUDA_CHECK(cudaGetLastError())
