// SPDX-License-Identifier: Apache-2.0
/// bfloat16: the upper half of a float32, as an integer's bits.
#pragma once

#include <bit>
#include <cstdint>

#include "core/host_device.h"

namespace likewise {

[[nodiscard]] LIKEWISE_HOST_DEVICE float float_of_bfloat16(std::uint16_t bits) {
  const std::uint32_t number = static_cast<std::uint32_t>(bits) << 16U;
#ifdef __CUDA_ARCH__
  return __uint_as_float(number);
#else
  return std::bit_cast<float>(number);
#endif
}

/// Rounded to the nearest, in doubt to the even one. Finite numbers near the largest may become
/// infinite.
[[nodiscard]] LIKEWISE_HOST_DEVICE std::uint16_t bfloat16_of(float number) {
#ifdef __CUDA_ARCH__
  const std::uint32_t bits = __float_as_uint(number);
#else
  const auto bits = std::bit_cast<std::uint32_t>(number);
#endif
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

}  // namespace likewise
