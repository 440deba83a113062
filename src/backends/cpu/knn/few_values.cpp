// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/few_values.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "core/system/parallel.h"
#include "likewise/types.h"

namespace likewise {

bool FewValues::add(float value) {
  const std::uint32_t slot = slot_of(value);
  if (codes_[slot] != 0) return true;
  if (count_ == values_.size()) return false;
  values_[count_] = value;
  codes_[slot] = static_cast<std::uint8_t>(count_++);
  return true;
}

std::optional<FewValues> FewValues::of(std::span<const float> values) {
  std::atomic<bool> fit = true;
  std::mutex merging;
  std::vector<float> found;
  parallel_blocks(std::ssize(values), Offset{1} << 16, [&](Offset begin, Offset end, Offset) {
    FewValues own;
    for (Offset e = begin; e < end && fit.load(std::memory_order_relaxed); ++e) {
      if (!own.add(values[static_cast<std::size_t>(e)])) fit = false;
    }
    const std::lock_guard lock(merging);
    found.insert(found.end(), own.all().begin(), own.all().end());
  });
  std::ranges::sort(found);
  FewValues all;
  for (const float value : found) {
    if (!all.add(value)) fit = false;
  }
  if (!fit) return std::nullopt;
  return all;
}

bool FewValues::are_ones() const {
  return std::ranges::all_of(all(), [](float value) { return value == 1.0F; });
}

}  // namespace likewise
