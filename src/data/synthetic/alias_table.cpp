// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic/alias_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace likewise {

AliasTable::AliasTable(std::span<const Index> items, std::span<const float> weights)
    : cells_(items.size()) {
  const std::size_t n = items.size();
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> share(n);
  std::vector<std::size_t> small;
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < n; ++i) {
    // share = weight / mean weight: below 1 a cell has room for an alias
    share[i] = static_cast<double>(weights[i]) * static_cast<double>(n) / total;
    (share[i] < 1.0 ? small : large).push_back(i);
    cells_[i] = {std::numeric_limits<std::uint32_t>::max(), items[i], items[i]};
  }
  while (!small.empty() && !large.empty()) {
    const std::size_t lesser = small.back();
    const std::size_t greater = large.back();
    small.pop_back();
    cells_[lesser].threshold = static_cast<std::uint32_t>(share[lesser] * 0x1p32);
    cells_[lesser].alias = items[greater];
    share[greater] -= 1.0 - share[lesser];
    if (share[greater] < 1.0) {
      large.pop_back();
      small.push_back(greater);
    }
  }
}

}  // namespace likewise
