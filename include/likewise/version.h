// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace likewise {
/// Version of the library and of the program, semantic versioning.
inline constexpr const char* kVersion = "0.1.0";
}  // namespace likewise
