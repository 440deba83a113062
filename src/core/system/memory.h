// SPDX-License-Identifier: Apache-2.0
/// The two limits of what is left of the machine's memory.
#pragma once

#include <cstdint>

#include "likewise/memory.h"

namespace likewise {

/// Bytes this process may still fill: the machine's free memory or, if lower, what its control
/// groups leave. The largest number where the system does not tell.
[[nodiscard]] std::uint64_t available_pages();
/// Bytes it may still reserve, filled or not (`ulimit -v` and `ulimit -d`). The largest number
/// where there is no limit.
[[nodiscard]] std::uint64_t available_addresses();

}  // namespace likewise
