// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace likewise::cuda {

/// The GPUs whose memory GPU number `device` reads and writes directly (NVLink, or PCIe without the
/// processor in between), by number. Makes no context. What cannot be asked is not reached.
[[nodiscard]] std::vector<int> peers_of(int device);

}  // namespace likewise::cuda
