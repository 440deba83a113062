// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/check.h"

#include <cstring>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::cuda {

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line,
                      const char* detail) {
  static_cast<void>(cudaGetLastError());  // an error that does not stick must not show up again
  const char* slash = std::strrchr(file, '/');
  const bool memory = status == cudaErrorMemoryAllocation;
  throw Error(
      memory ? ErrorKind::kOutOfMemory : ErrorKind::kDevice,
      fmt::format("{}:{}: {}{}{} failed: {} ({})", slash == nullptr ? file : slash + 1, line, call,
                  detail == nullptr ? "" : " for ", detail == nullptr ? "" : detail,
                  cudaGetErrorString(status), cudaGetErrorName(status)));
}

}  // namespace likewise::cuda
