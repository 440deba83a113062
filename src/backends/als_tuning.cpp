// SPDX-License-Identifier: Apache-2.0
#include "backends/als_tuning.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "algorithms/weights.h"

namespace likewise {

AlsParams settle_precision(AlsParams params, Offset interactions) {
  constexpr Offset kFew = Offset{1} << 18;
  if (params.precision == Precision::kAuto && interactions <= kFew) {
    params.precision = Precision::kFp32;
  }
  return params;
}

AlsWork als_work(const AlsParams& params) {
  AlsWork work{params.feedback, params.precision, params.solver == AlsSolverKind::kCholesky,
               als_width(params)};
  if (work.precision == Precision::kAuto) {
    work.precision = work.exact ? Precision::kFp32 : Precision::kFp16;
  }
  return work;
}

AlsTuning built_in_tuning(const AlsWork& work, std::span<const AlsTuning> variants) {
  const int short_rows = work.width <= 64 ? 64 : 192;
  const bool wide = work.width > 192 && !work.exact;
  // How far a variant is from what is wanted, the most important first.
  const auto distance = [&](const AlsTuning& one) {
    return std::tuple(one.wide != wide, one.columns, std::abs(one.short_rows - short_rows),
                      std::abs(one.one_warp - 96), std::abs(one.piece - 4096));
  };
  return *std::ranges::min_element(variants, {}, distance);
}

}  // namespace likewise
