// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/als_tuning.h"

#include "algorithms/als/weights.h"

namespace likewise {

AlsParams resolve_precision(AlsParams params, Offset interactions) {
  constexpr Offset kFew = Offset{1} << 18;
  if (params.precision == Precision::kAuto && interactions <= kFew) {
    params.precision = Precision::kFp32;
  }
  return params;
}

AlsWork als_work(const AlsParams& params) {
  const bool exact = params.solver == AlsSolverKind::kCholesky || params.nonnegative;
  AlsWork work{params.feedback, params.precision, exact, als_width(params), params.nonnegative};
  if (work.precision == Precision::kAuto) {
    work.precision = work.exact ? Precision::kFp32 : Precision::kFp16;
  }
  return work;
}

}  // namespace likewise
