// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/instances.h"
#include "backends/cuda/als/rows/shape.cuh"

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

/// One kernel.
struct Candidate {
  Launch launch = nullptr;
  int bytes = 0;
};

template <class Format, bool kExact>
[[nodiscard]] Candidate find_kernel(int strips) {
  Candidate found;
  for_all_strips([&](auto candidate) {
    constexpr int kStrips = candidate.value;
    if constexpr (has_row_kernel<Format, kExact>(kStrips)) {
      if (kStrips == strips) {
        found = {launch_rows<Format, kStrips, kExact>, kRowBytes<Format, kStrips, kExact>};
      }
    }
  });
  return found;
}

template <class Format>
[[nodiscard]] Candidate find_kernel(bool exact, int strips) {
  return exact ? find_kernel<Format, true>(strips) : find_kernel<Format, false>(strips);
}

[[nodiscard]] Candidate find_kernel(Precision precision, bool exact, int strips) {
  switch (precision) {
    case Precision::kBf16:
      return find_kernel<BfloatFormat>(exact, strips);
    case Precision::kTf32:
      return find_kernel<Tf32Format>(exact, strips);
    case Precision::kFp32:
      return find_kernel<FloatFormat>(exact, strips);
    default:
      if (const Candidate large = find_kernel<LargeTilesHalfFormat, false>(strips);
          !exact && large.launch != nullptr) {
        return large;
      }
      return find_kernel<HalfFormat>(exact, strips);
  }
}

}  // namespace

Offset piece_floats(int padded) {
  Offset floats = 0;
  for_all_strips([&](auto strips) {
    const auto most = [&]<class Shape>(Shape) {
      floats = std::max(floats, Offset{Shape::kThreads} * 4 * Shape::kProducts);
    };
    if (16 * strips.value != padded) return;
    most(ShapeOf<HalfFormat, strips.value>());
    most(ShapeOf<LargeTilesHalfFormat, strips.value>());
  });
  return floats;
}

int rows_padded(Precision precision, bool exact, int width) {
  int strips = (width + 15) / 16;
  while (strips < kMaxRowsPadded / 16 && find_kernel(precision, exact, strips).launch == nullptr) {
    ++strips;
  }
  return 16 * strips;
}

int row_bytes(Precision precision, bool exact, int padded) {
  return find_kernel(precision, exact, padded / 16).bytes;
}

void solve_rows(Precision precision, const RowProblem& problem, const RowTask* tasks, int count,
                cudaStream_t stream) {
  if (count == 0) return;
  find_kernel(precision, problem.exact, problem.padded / 16).launch(problem, tasks, count, stream);
}

}  // namespace likewise::cuda
