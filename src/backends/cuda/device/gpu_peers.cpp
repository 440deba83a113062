// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/gpu_peers.h"

#include <cuda_runtime_api.h>

namespace likewise::cuda {

std::vector<int> peers_of(int device) {
  std::vector<int> peers;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int other = 0; other < count; ++other) {
    int reaches = 0;
    if (other == device) continue;
    if (cudaDeviceCanAccessPeer(&reaches, device, other) != cudaSuccess) continue;
    if (reaches != 0) peers.push_back(other);
  }
  static_cast<void>(cudaGetLastError());  // an answer, not the failure of a later call
  return peers;
}

}  // namespace likewise::cuda
