// SPDX-License-Identifier: Apache-2.0
#include "link_rate.h"

#include <algorithm>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"

namespace likewise {
namespace {

constexpr Offset kBytes = Offset{256} << 20;

/// The current GPU's best of several.
template <class Copy>
[[nodiscard]] double best_rate(const Copy& copy) {
  const cuda::Stream stream;
  cuda::Timestamp begin;
  cuda::Timestamp end;
  double best = 0.0;
  for (int i = 0; i < 8; ++i) {
    begin.record(stream);
    LIKEWISE_CUDA_CHECK(copy(stream));
    end.record(stream);
    best = std::max(best, static_cast<double>(kBytes) / begin.until(end));
  }
  return best;
}

}  // namespace

double link_rate(int from, int to) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(from));
  cuda::DeviceArray<char> source(kBytes);
  LIKEWISE_CUDA_CHECK(cudaSetDevice(to));
  const bool directly = cudaDeviceEnablePeerAccess(from, 0) == cudaSuccess;
  static_cast<void>(cudaGetLastError());  // through the host's memory, else
  cuda::DeviceArray<char> target(kBytes);
  const double best = best_rate([&](cudaStream_t stream) {
    return cudaMemcpyPeerAsync(target.data(), to, source.data(), from, kBytes, stream);
  });
  if (directly) LIKEWISE_CUDA_CHECK(cudaDeviceDisablePeerAccess(from));
  return best;
}

double host_rate(int to) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(to));
  cuda::PinnedArray<char> source(kBytes);
  cuda::DeviceArray<char> target(kBytes);
  return best_rate([&](cudaStream_t stream) {
    return cudaMemcpyAsync(target.data(), source.data(), kBytes, cudaMemcpyHostToDevice, stream);
  });
}

}  // namespace likewise
