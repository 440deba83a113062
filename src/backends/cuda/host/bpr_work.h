// SPDX-License-Identifier: Apache-2.0
/// The work of an epoch of BPR on a GPU: tasks, each for one group of threads, and their order.
#pragma once

#include <vector>

#include "algorithms/sgd/setup.h"
#include "core/host_device.h"
#include "core/random.h"
#include "likewise/bpr.h"
#include "likewise/csr.h"
#include "likewise/memory.h"

namespace likewise {

/// A few likes of a user, which a group takes one after the other.
struct BprTask {
  Offset begin = 0;  ///< the first of them
  Index user = 0;
  Index count = 0;
};

/// Likes of a task at most: the more of a user's likes come together, the worse the model becomes
/// for as many steps, most of all with popular negatives.
inline constexpr Index kBprTask = 8;

/// Every like is in one of them.
[[nodiscard]] std::vector<BprTask> bpr_tasks(const CsrView& likes);

/// An order of [0, count) in which neighbours come far apart.
struct TurnOrder {
  std::uint64_t count = 1;
  std::uint64_t stride = 1;  ///< shares no divisor with count
  std::uint64_t shift = 0;

  TurnOrder() = default;
  TurnOrder(Index count, CounterRandom& random);

  [[nodiscard]] LIKEWISE_HOST_DEVICE Index at(Index turn) const {
    return static_cast<Index>((static_cast<std::uint64_t>(turn) * stride + shift) % count);
  }
};

/// What a training takes of a GPU, with factors of numbers of `number_bytes`, in `available` bytes.
/// Throws Error(kOutOfMemory) with the figures where it does not fit.
[[nodiscard]] MemoryPlan plan_gpu_bpr(const SgdShape& shape, const BprParams& params,
                                      int number_bytes, Offset available);

}  // namespace likewise
