// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace likewise {

/// People pass the wrong file more often than a broken one: throws Error(kBadData) for text and for
/// what begins as a file of another well-known format.
void refuse_known_formats(std::span<const std::byte> file);

}  // namespace likewise
