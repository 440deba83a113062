// SPDX-License-Identifier: Apache-2.0
/// About how long trainings take, from counts alone: for decisions that must be the same on every
/// machine. The rates are those of one core with AVX-512 (defaults.md, "What trainings cost").
#pragma once

#include <algorithm>
#include <span>

#include "likewise/csr.h"

namespace likewise {

/// Multiplications and additions a second: of products of dense matrices, of the rows of ALS, and
/// of single entries, which wait for memory.
inline constexpr double kDenseRate = 4e10;
inline constexpr double kRowRate = 1e10;
inline constexpr double kEntryRate = 5e8;

/// Seconds of a core for an iteration of ALS with f factors: a row of c entries adds up
/// c f min(c, f) numbers, since rows with fewer entries than factors are solved in the space of
/// these.
[[nodiscard]] inline double als_seconds(std::span<const Offset> of_rows, double factors) {
  double additions = factors * factors * factors;
  for (const Offset count : of_rows) {
    const auto c = static_cast<double>(count);
    additions += c * factors * std::min(c, factors);
  }
  return additions / kRowRate;
}

}  // namespace likewise
