// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise {

/// How top-k uses the memory of a GPU.
struct GpuTopKPlan {
  Index pieces = 1;   ///< that the items come in; one stays on the GPU between calls
  Index queries = 0;  ///< at a time
  /// Items that a portion of exclusion lists has; of one query it may be more.
  Offset excluded = 0;
};

/// Of a query beside its row, for lists of up to about a hundred. Longer ones have fewer queries at
/// a time.
inline constexpr Offset kTopKQueryBytes = 16 << 10;

/// For a table of so many items and up to `queries` queries at a time, in `available` bytes. Throws
/// Error(kOutOfMemory) with the figures where hardly anything fits.
[[nodiscard]] GpuTopKPlan plan_gpu_top_k(Index items, Index columns, Index queries,
                                         Offset available);

}  // namespace likewise
