// SPDX-License-Identifier: Apache-2.0
/// Steps of BPR over the likes of a block (math.md, "BPR"). One text for every instruction set
/// (Highway).
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/bpr/draw.h"
#include "algorithms/sgd/grid.h"
#include "core/random.h"
#include "likewise/types.h"

namespace likewise::kernels {

struct BprRun {
  std::span<const SgdEntry> likes;  ///< of a user stripe, in an item stripe
  std::span<const SgdEntry> known;  ///< of the same users, in the stripe of the negatives
  NegativeRange negatives;
  float* users = nullptr;  ///< rows x stride, 64-byte aligned, zero beyond the width
  float* items = nullptr;
  float* item_bias = nullptr;  ///< or null: there are none
  const std::uint8_t* changes =
      nullptr;  ///< of an item: 0 where it stays as it is; null: none does
  Index stride = 0;
  float rate = 0.0F;
  float decay = 0.0F;  ///< lambda
};

/// One step for each like for which a negative was found, in their order. Returns the sum of
/// -ln sigma just before each. Both spans are sorted by user.
double take_bpr_steps(const BprRun& run, CounterRandom random);

}  // namespace likewise::kernels
