// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend as the program sees it: cards that the plug-in found.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "likewise/backend.h"

namespace likewise {

/// Opens card number `wanted`, or the first that can be used. Nothing happens on the card before a
/// job is made. `device` is the text that asked for it; errors begin with it. Throws
/// Error(kDevice).
[[nodiscard]] std::shared_ptr<const Backend> open_cuda(std::string_view device,
                                                       std::optional<int> wanted,
                                                       const BackendOptions& options);

/// A line for each card, or one that says why there is none. Never throws.
[[nodiscard]] std::vector<BackendStatus> cuda_statuses();

}  // namespace likewise
