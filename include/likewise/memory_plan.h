// SPDX-License-Identifier: Apache-2.0
/// `MemoryPlan`: what a training will take of its device's memory.
#pragma once

#include <string>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// What a training takes of its device's memory, found before anything is allocated.
struct MemoryPlan {
  struct Part {
    std::string name;
    Offset bytes = 0;
  };
  std::string placement;  ///< where the data is, e.g. "everything on the GPU"
  std::vector<Part> parts;
  Offset total = 0;
  Offset available = 0;  ///< on the device: what is free, or the limit where one was given
  Offset machine = 0;    ///< what a GPU takes of the machine's memory besides
};

/// The plan for people: a line per part, the total, and what is available.
[[nodiscard]] std::string describe(const MemoryPlan& plan);

}  // namespace likewise
