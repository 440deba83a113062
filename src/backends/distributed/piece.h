// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "likewise/types.h"

namespace likewise {

/// Numbers [begin, end) of all.
template <class T>
[[nodiscard]] std::span<T> piece(std::span<T> all, Offset begin, Offset end) {
  return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace likewise
