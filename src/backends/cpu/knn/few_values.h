// SPDX-License-Identifier: Apache-2.0
/// The different values of a matrix where they are few, as ratings and likes are.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/cpu/kernels/pair_sums.h"

namespace likewise {

/// Numbers from 1 on for at most kernels::kCodes - 1 values; 0 is no value.
class FewValues {
 public:
  /// Nothing where there are more. The same numbers for any number of threads.
  [[nodiscard]] static std::optional<FewValues> of(std::span<const float> values);

  [[nodiscard]] bool are_ones() const;
  [[nodiscard]] std::span<const float> all() const {
    return std::span(values_).subspan(1, count_ - 1);
  }

  /// Of one of the values.
  [[nodiscard]] std::uint8_t code(float value) const { return codes_[slot_of(value)]; }
  /// By number, the first 0.
  [[nodiscard]] std::span<const float> by_code() const { return values_; }

 private:
  static constexpr std::uint32_t kSlots = 64;

  /// That of the value, or a free one.
  [[nodiscard]] std::uint32_t slot_of(float value) const {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t slot = (bits * 0x9E3779B1U) >> 26U;
    while (codes_[slot] != 0 && std::bit_cast<std::uint32_t>(values_[codes_[slot]]) != bits) {
      slot = (slot + 1) % kSlots;
    }
    return slot;
  }
  /// Returns whether it has a number.
  [[nodiscard]] bool add(float value);

  std::array<std::uint8_t, kSlots> codes_ = {};
  std::array<float, kernels::kCodes> values_ = {};
  std::size_t count_ = 1;
};

}  // namespace likewise
