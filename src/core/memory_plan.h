// SPDX-License-Identifier: Apache-2.0
/// Says no before a large allocation instead of dying in the middle of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
namespace likewise {

/// Bytes this process may still take: the machine's free memory or, if lower, what its control
/// group allows. The largest number where the system does not say.
[[nodiscard]] std::uint64_t available_memory();

/// "23.10 GiB", "512.0 MiB".
[[nodiscard]] std::string size_text(double bytes);

/// Throws Error(kOutOfMemory) when `bytes` exceed what is available. `plan` says what they are for,
/// e.g. "netflix: 480189 x 17770, 99072112 interactions".
void check_memory_plan(std::string_view plan, double bytes);

}  // namespace likewise
