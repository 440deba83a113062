// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/top_k_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kColumnStep = 64;
constexpr Index kFewestQueries = 1024;
constexpr Index kFewestItems = 1024;  ///< of a piece
constexpr Offset kMostExcluded = Offset{1} << 24;
constexpr Offset kFewestExcluded = Offset{1} << 14;

}  // namespace

GpuTopKPlan plan_gpu_top_k(Index items, Index columns, Index queries, Offset available) {
  const Offset pitch = (std::max<Index>(1, columns) + kColumnStep - 1) / kColumnStep * kColumnStep;
  const Offset row = pitch * Offset{sizeof(float) + 2};  // float32 and float16
  const Offset item = row + 4 * Offset{sizeof(float)};
  GpuTopKPlan plan;
  // Half for two batches of queries at most; the items have the rest.
  const Offset query = 2 * (row + kTopKQueryBytes);
  plan.queries = static_cast<Index>(
      std::clamp<Offset>(available / 2 / query, kFewestQueries, std::max(kFewestQueries, queries)));
  // Each of two batches has a portion of exclusion lists.
  plan.excluded = std::clamp<Offset>(available / 16 / (2 * Offset{sizeof(Index)}), kFewestExcluded,
                                     kMostExcluded);
  const Offset lists = 2 * plan.excluded * Offset{sizeof(Index)};
  const Offset left = available - plan.queries * query - items * Offset{sizeof(Index)} - lists;
  const Offset fitting = left / item;
  if (fitting < std::min(items, kFewestItems)) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("the GPU has too little memory for lists: {} are free, and {} queries "
                            "at a time with {} items take {}; use the cpu",
                            size_text(static_cast<double>(available)), kFewestQueries, kFewestItems,
                            size_text(static_cast<double>(kFewestQueries * query +
                                                          kFewestItems * item + lists))));
  }
  plan.pieces =
      static_cast<Index>(std::max<Offset>(1, (items + fitting - 1) / std::max<Offset>(1, fitting)));
  return plan;
}

}  // namespace likewise
