// SPDX-License-Identifier: Apache-2.0
/// Where rows start in an iteration of ALS that conjugate gradients solve: moved on by a part of
/// their last change (math.md, "How the rows are solved"). The factors hold the changes.
#pragma once

#include <cstdint>
#include <span>

#include "core/bfloat16.h"
#include "core/host_device.h"
#include "likewise/als.h"
#include "likewise/factors.h"

namespace likewise {

/// Whether a training with these parameters moves its starts.
[[nodiscard]] bool moves_starts(const AlsParams& params, const AlsShape& shape);

/// A half-step of this number, from 1, finds rows that have learned: their change counts.
[[nodiscard]] inline bool counts_changes(Offset half_step) { return half_step > 2; }

/// With room for changes, of which those that are there stay; or, where starts do not move,
/// without.
[[nodiscard]] Factors with_changes(Factors start, bool moved);

/// The product is exact in float64, so that it does not matter whether the sum is fused with it.
[[nodiscard]] LIKEWISE_HOST_DEVICE float moved_start(float x, float ratio, std::uint16_t change) {
  return static_cast<float>(double{x} + double{ratio} * double{float_of_bfloat16(change)});
}

/// How large the changes of a side's rows are: sums of squares.
struct ChangeSums {
  double now = 0.0;
  double before = 0.0;  ///< in the iteration before

  ChangeSums& operator+=(const ChangeSums& more) {
    now += more.now;
    before += more.before;
    return *this;
  }
  /// The share of a change that the next one is expected to repeat: the last one's size by that of
  /// the one before, from 0 to 1. In 256ths, whatever order the sums were added up in.
  [[nodiscard]] float ratio() const;
};

/// A row's changes from `before` to `now` take the place of its last ones.
[[nodiscard]] ChangeSums note_changes(std::span<const float> before, const float* now,
                                      std::uint16_t* changes);

}  // namespace likewise
