// SPDX-License-Identifier: Apache-2.0
#include "data/random_order.h"

#include <algorithm>
#include <mutex>

#include "core/random.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

constexpr Offset kBlock = Offset{1} << 16;
constexpr int kBinBits = 12;
constexpr std::size_t kBins = std::size_t{1} << kBinBits;

/// Keys fall into bins by their first bits; a later bin has only larger keys.
std::size_t bin_of(const RandomOrder::Place& place) { return place.first >> (64 - kBinBits); }

}  // namespace

RandomOrder::Place RandomOrder::place(Offset i) const {
  return {CounterRandom(seed_, kStreamSplit, static_cast<std::uint64_t>(i)).next_u64(), i};
}

auto RandomOrder::places_at(const std::vector<Offset>& ranks) const -> std::vector<Place> {
  std::mutex mutex;
  std::vector<Offset> before(kBins + 1, 0);  // sums do not depend on the order of the blocks
  parallel_blocks(count_, kBlock, [&](Offset begin, Offset end, Offset) {
    std::vector<Offset> counts(kBins, 0);
    for (Offset i = begin; i < end; ++i) ++counts[bin_of(place(i))];
    const std::scoped_lock lock(mutex);
    for (std::size_t bin = 0; bin < kBins; ++bin) before[bin + 1] += counts[bin];
  });
  for (std::size_t bin = 0; bin < kBins; ++bin) before[bin + 1] += before[bin];

  // Only the bins that hold a rank are looked at closely.
  std::vector<std::size_t> bin_of_rank;
  std::vector<char> wanted(kBins, 0);
  for (const Offset rank : ranks) {
    const auto bin = std::upper_bound(before.begin(), before.end(), rank) - before.begin() - 1;
    bin_of_rank.push_back(static_cast<std::size_t>(bin));
    wanted[static_cast<std::size_t>(bin)] = 1;
  }
  std::vector<Place> close;
  parallel_blocks(count_, kBlock, [&](Offset begin, Offset end, Offset) {
    std::vector<Place> mine;
    for (Offset i = begin; i < end; ++i) {
      if (const Place at = place(i); wanted[bin_of(at)] != 0) mine.push_back(at);
    }
    const std::scoped_lock lock(mutex);
    close.insert(close.end(), mine.begin(), mine.end());
  });
  std::sort(close.begin(), close.end());

  std::vector<Place> result;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto first =
        std::lower_bound(close.begin(), close.end(), bin_of_rank[r],
                         [](const Place& p, std::size_t bin) { return bin_of(p) < bin; });
    result.push_back(first[ranks[r] - before[bin_of_rank[r]]]);
  }
  return result;
}

}  // namespace likewise
