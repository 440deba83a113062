// SPDX-License-Identifier: Apache-2.0
/// What lists by dense weights take of a GPU, decided from counts before anything is allocated.
#pragma once

#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

/// Lists of more items than that are sorted out of all scores, on the processor.
inline constexpr Index kMostGpuListed = 2048;

struct WeightListsPlan {
  Index pitch = 0;     ///< numbers from one row of weights, and of scores, to the next
  Index rows = 0;      ///< histories at a time, at most
  Offset entries = 0;  ///< of them and of what is excluded for them; of one history it may be more
};

/// For weights of items x items in `available` bytes. Throws Error(kOutOfMemory) with the figures
/// where they do not fit.
[[nodiscard]] WeightListsPlan plan_gpu_weight_lists(Index items, Offset available);

/// The end of the histories from `first` on that come at a time; `excluded` has a row for each of
/// them, or none at all.
[[nodiscard]] Index end_of_histories(const WeightListsPlan& plan, const CsrView& histories,
                                     const CsrView& excluded, Index first);

}  // namespace likewise
