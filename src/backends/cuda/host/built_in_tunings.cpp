// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/built_in_tunings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

#include "backends/cuda/host/als_cost.h"

namespace likewise {
namespace {

/// The limits of matrix-free rows that were the fastest on an H200, for tables up to so many
/// columns; from 65 to 96 columns on an H100, which has the same multiprocessors.
struct Measured {
  int columns;
  int short_rows;
  int one_warp;
  int held_rows;
};
constexpr std::array kMeasured{Measured{64, 0, 0, 0}, Measured{96, 32, 32, 64},
                               Measured{160, 32, 32, 256}, Measured{192, 160, 48, 0},
                               Measured{256, 192, 48, 0}};

/// How far a variant is from the fastest on an H200, what matters most first.
[[nodiscard]] auto distance_on_h200(const AlsWork& work, const AlsTuning& one) {
  const auto* best = std::ranges::find_if(
      kMeasured, [&](const Measured& each) { return one.columns <= each.columns; });
  if (best == kMeasured.end()) --best;
  const bool wide = work.width > 192 && !work.exact;
  return std::tuple(one.wide != wide, one.columns, std::abs(one.held_rows - best->held_rows),
                    std::abs(one.short_rows - best->short_rows),
                    std::abs(one.one_warp - best->one_warp), -one.piece);
}

}  // namespace

bool is_measured(const GpuInfo& gpu) {
  return gpu.name.find("H200") != std::string::npos || gpu.name.find("H100") != std::string::npos;
}

AlsTuning built_in_tuning(const GpuInfo& gpu, const AlsWork& work,
                          std::span<const AlsTuning> variants) {
  if (is_measured(gpu)) {
    return *std::ranges::min_element(
        variants, {}, [&](const AlsTuning& one) { return distance_on_h200(work, one); });
  }
  return *std::ranges::min_element(
      variants, {}, [&](const AlsTuning& one) { return estimated_seconds(gpu, work, one); });
}

std::vector<AlsTuning> built_in_tunings(const GpuInfo& gpu, const AlsWork& work,
                                        std::span<const AlsTuning> variants) {
  std::vector<AlsTuning> best{built_in_tuning(gpu, work, variants)};
  std::vector<AlsTuning> rest(variants.begin(), variants.end());
  while (true) {
    std::erase_if(rest, [&](const AlsTuning& one) {
      return one.columns == best.back().columns && one.wide == best.back().wide;
    });
    if (rest.empty()) return best;
    best.push_back(built_in_tuning(gpu, work, rest));
  }
}

}  // namespace likewise
