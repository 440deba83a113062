// SPDX-License-Identifier: Apache-2.0
/// The machine's memory that is left, and refusing beforehand what cannot fit into it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Bytes that this process may still take: the machine's free memory or, if lower, what its control
/// groups or `ulimit` leave. The largest number where the system does not tell.
[[nodiscard]] std::uint64_t available_memory();

/// "23.10 GiB", "512.0 MiB".
[[nodiscard]] std::string size_text(double bytes);

/// Throws Error(kOutOfMemory) when `bytes` exceed what is available. `plan` says what they are for,
/// e.g. "netflix: 480189 x 17770, 99072112 interactions".
void check_memory_plan(std::string_view plan, double bytes);

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
