// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/weight_lists_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

constexpr Offset kMostHistories = 8192;
constexpr Offset kMostScoreBytes = Offset{1} << 30;  ///< bytes
constexpr Offset kMostEntries = Offset{1} << 24;
/// An entry has an item and a value, an excluded one an item.
constexpr Offset kHistoryEntryBytes = sizeof(Index) + sizeof(float);
/// A history: its scores, its list, its place and where its entries begin.
[[nodiscard]] Offset history_bytes(Index pitch) {
  return (Offset{pitch} + 2 * kMostGpuListed + 1) * Offset{sizeof(float)} + 32;
}

[[nodiscard]] Offset entries_of(const CsrView& rows, Index first, Index end) {
  return rows.rows > 0 ? rows.offsets[end] - rows.offsets[first] : 0;
}

}  // namespace

WeightListsPlan plan_gpu_weight_lists(Index items, Offset available) {
  WeightListsPlan plan;
  plan.pitch = padded_stride(items);
  const Offset weights = Offset{items} * plan.pitch * Offset{sizeof(float)};
  // One history of all items, of which all are excluded.
  const Offset least = history_bytes(plan.pitch) + 2 * Offset{items} * kHistoryEntryBytes + items;
  if (weights + least > available) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("the GPU has too little memory for lists: {} are free, and the weights "
                            "of {} items take {}; use the cpu",
                            size_text(static_cast<double>(available)), items,
                            size_text(static_cast<double>(weights + least))));
  }
  const Offset left = available - weights - least;
  plan.rows = static_cast<Index>(std::clamp<Offset>(
      std::min(left / 2, kMostScoreBytes) / history_bytes(plan.pitch), 1, kMostHistories));
  plan.entries = std::clamp<Offset>(left / 4 / kHistoryEntryBytes,
                                    2 * Offset{std::max<Index>(1, items)}, kMostEntries);
  return plan;
}

Index end_of_histories(const WeightListsPlan& plan, const CsrView& histories,
                       const CsrView& excluded, Index first) {
  const Index most = std::min(histories.rows - first, plan.rows) + first;
  Index end = first + 1;
  while (end < most &&
         entries_of(histories, first, end + 1) + entries_of(excluded, first, end + 1) <=
             plan.entries) {
    ++end;
  }
  return end;
}

}  // namespace likewise
