// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/cuda/als_rows.cuh"
#include "backends/cuda/als_rows.h"
#include "backends/cuda/rows/instances.h"
#include "backends/cuda/wide/tiles.h"

namespace likewise::cuda {
namespace {

using Launch = void (*)(const RowProblem&, const RowTask*, int, cudaStream_t);

/// Calls visit(strips) for the strips that a format has kernels for, as compile-time numbers.
template <class Visit>
constexpr void for_all_strips(Visit visit) {
  [&]<int... kStrips>(std::integer_sequence<int, kStrips...>) {
    (visit(std::integral_constant<int, kStrips + 1>{}), ...);
  }
  (std::make_integer_sequence<int, kMaxRowsPadded / 16>{});
}

template <class Format>
[[nodiscard]] Launch find_launch(int strips) {
  Launch found = nullptr;
  for_all_strips([&](auto candidate) {
    if constexpr (has_row_kernel<Format>(candidate.value)) {
      if (candidate.value == strips) found = launch_rows<Format, candidate.value>;
    }
  });
  return found;
}

[[nodiscard]] Launch find_launch(Precision precision, int strips) {
  switch (precision) {
    case Precision::kBf16:
      return find_launch<BfloatFormat>(strips);
    case Precision::kTf32:
      return find_launch<Tf32Format>(strips);
    case Precision::kFp32:
      return find_launch<FloatFormat>(strips);
    default:
      return find_launch<HalfFormat>(strips);
  }
}

}  // namespace

Offset piece_floats(int padded) {
  if (padded > kMaxRowsPadded) return slot_floats(padded);
  Offset floats = 0;
  for_all_strips([&](auto strips) {
    using Shape = RowShape<strips.value>;
    if (16 * strips.value == padded) floats = Offset{Shape::kThreads} * 4 * Shape::kProducts;
  });
  return floats;
}

int rows_padded(Precision precision, int width) {
  int strips = (width + 15) / 16;
  if (16 * strips > kMaxRowsPadded) return 16 * strips;
  while (strips < kMaxRowsPadded / 16 && find_launch(precision, strips) == nullptr) ++strips;
  return 16 * strips;
}

void solve_rows(Precision precision, const RowProblem& problem, const RowTask* tasks, int count,
                cudaStream_t stream) {
  if (count > 0) find_launch(precision, problem.padded / 16)(problem, tasks, count, stream);
}

}  // namespace likewise::cuda
