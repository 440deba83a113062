// SPDX-License-Identifier: Apache-2.0
/// Copies into the memory of a GPU from that of others.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <vector>

#include "likewise/types.h"

namespace likewise::cuda {

struct DeviceCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  Offset bytes = 0;
};

/// One after the other, by the copy engines. Each takes some 18 us longer than its bytes.
void copy_in_turn(const std::vector<DeviceCopy>& copies, cudaStream_t stream);

/// All at once, by a kernel of the current GPU, which can read what it copies from. Memory and
/// sizes are multiples of 16 bytes.
void copy_at_once(const std::vector<DeviceCopy>& copies, cudaStream_t stream);
/// Whether copy_at_once() can do it, and is faster where the GPU has nothing else to do: several
/// copies, or a short one.
[[nodiscard]] bool better_at_once(const std::vector<DeviceCopy>& copies);

}  // namespace likewise::cuda
