// SPDX-License-Identifier: Apache-2.0
/// Refuses a large allocation beforehand, instead of failing in the middle of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace likewise {

/// Bytes this process may still fill: the machine's free memory or, if lower, what its control
/// groups leave. The largest number where the system does not tell.
[[nodiscard]] std::uint64_t available_pages();
/// Bytes it may still reserve, filled or not (`ulimit -v` and `ulimit -d`). The largest number
/// where there is no limit.
[[nodiscard]] std::uint64_t available_addresses();
/// The lesser of the two.
[[nodiscard]] std::uint64_t available_memory();

/// "23.10 GiB", "512.0 MiB".
[[nodiscard]] std::string size_text(double bytes);

/// Throws Error(kOutOfMemory) when `bytes` exceed what is available. `plan` says what they are for,
/// e.g. "netflix: 480189 x 17770, 99072112 interactions".
void check_memory_plan(std::string_view plan, double bytes);

}  // namespace likewise
