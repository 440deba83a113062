// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace likewise {

/// The Highway target our kernels run on. The first call applies LIKEWISE_ISA; it must come before
/// any kernel is dispatched, so open_device() makes it. Throws Error on an ISA that the CPU lacks.
std::int64_t chosen_target();

}  // namespace likewise
