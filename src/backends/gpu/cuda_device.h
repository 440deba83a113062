// SPDX-License-Identifier: Apache-2.0
/// NVIDIA GPUs as the program sees them: those that the plug-in found.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "likewise/device.h"

namespace likewise {

/// Opens GPU number `wanted`, or the first that can be used. Nothing happens on the GPU before a
/// job is made. `device` is the text that asked for it; errors begin with it. Throws
/// Error(kDevice).
[[nodiscard]] Device open_cuda(std::string_view device, std::optional<int> wanted,
                               const DeviceOptions& options);

/// A line for each GPU, or one that says why there is none. Never throws.
[[nodiscard]] std::vector<DeviceStatus> cuda_statuses();

}  // namespace likewise
