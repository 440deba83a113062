// SPDX-License-Identifier: Apache-2.0
#include "link_rate.h"

#include <algorithm>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"

namespace likewise {

double link_rate(int from, int to) {
  constexpr Offset kBytes = Offset{256} << 20;
  LIKEWISE_CUDA_CHECK(cudaSetDevice(from));
  cuda::DeviceArray<char> source(kBytes);
  LIKEWISE_CUDA_CHECK(cudaSetDevice(to));
  const bool directly = cudaDeviceEnablePeerAccess(from, 0) == cudaSuccess;
  static_cast<void>(cudaGetLastError());  // through the host's memory, else
  cuda::DeviceArray<char> target(kBytes);
  const cuda::Stream stream;
  cuda::Timestamp begin;
  cuda::Timestamp end;
  double best = 0.0;
  for (int i = 0; i < 8; ++i) {
    begin.record(stream);
    LIKEWISE_CUDA_CHECK(
        cudaMemcpyPeerAsync(target.data(), to, source.data(), from, kBytes, stream));
    end.record(stream);
    best = std::max(best, static_cast<double>(kBytes) / begin.until(end));
  }
  if (directly) LIKEWISE_CUDA_CHECK(cudaDeviceDisablePeerAccess(from));
  return best;
}

}  // namespace likewise
