// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace likewise::cuda {

void allow_shared_memory(const void* kernel, int bytes);

/// For kernels that are launched with now more, now less dynamic shared memory: lets a block have
/// so many bytes on the current GPU, and never less than it was let have before, as other threads
/// may be about to launch it. Thread-safe.
template <class... Arguments>
void allow_shared_memory(void (*kernel)(Arguments...), int bytes) {
  allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes);
}

}  // namespace likewise::cuda
