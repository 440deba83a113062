// SPDX-License-Identifier: Apache-2.0
/// The machine's memory that is left, and refusing beforehand what cannot fit into it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace likewise {

/// Bytes that this process may still take: the machine's free memory or, if lower, what its control
/// groups or `ulimit` leave. The largest number where the system does not tell.
[[nodiscard]] std::uint64_t available_memory();

/// "23.10 GiB", "512.0 MiB".
[[nodiscard]] std::string size_text(double bytes);

/// Throws Error(kOutOfMemory) when `bytes` exceed what is available. `plan` says what they are for,
/// e.g. "netflix: 480189 x 17770, 99072112 interactions".
void check_memory_plan(std::string_view plan, double bytes);

}  // namespace likewise
