// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "backends/cuda/als_rows.h"
#include "backends/cuda/rows/instances.h"
#include "backends/cuda/rows/products.cuh"

namespace likewise::cuda {
namespace {

/// Rows of up to `interactions` are solved by `warps` warps each.
struct Class {
  int interactions;
  int warps;
};
constexpr std::array<Class, 8> kClasses = {
    {{192, 2}, {160, 2}, {128, 2}, {96, 1}, {80, 1}, {64, 1}, {48, 1}, {32, 1}}};
constexpr int kMostStrips = 16;

using Launch = void (*)(const RowProblem&, const RowTask*, int, int, cudaStream_t);

template <int kStrips, int kWarps>
void launch(const RowProblem& problem, const RowTask* tasks, int count, int capacity,
            cudaStream_t stream) {
  const int bytes = RowProducts<kStrips, kWarps>::shared_bytes(capacity);
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(product_kernel<kStrips, kWarps>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  product_kernel<kStrips, kWarps><<<count, 32 * kWarps, bytes, stream>>>(problem, tasks, capacity);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <int kWarps>
[[nodiscard]] Launch find_launch(int strips) {
  Launch found = nullptr;
  [&]<int... kStrips>(std::integer_sequence<int, kStrips...>) {
    (
        [&] {
          if constexpr (has_row_kernel<HalfFormat, false>(kStrips + 1)) {
            if (kStrips + 1 == strips) found = launch<kStrips + 1, kWarps>;
          }
        }(),
        ...);
  }
  (std::make_integer_sequence<int, kMostStrips>{});
  return found;
}

}  // namespace

int short_row_limit(Precision precision, int padded) {
  if (precision != Precision::kFp16 || padded > 16 * kMostStrips) return 0;
  return padded <= 64 ? 64 : 192;
}

void solve_short_rows(const RowProblem& problem, const RowTask* tasks,
                      std::span<const std::int32_t> counts, cudaStream_t stream) {
  std::size_t first = 0;
  for (std::size_t c = 0; c < kClasses.size() && first < counts.size(); ++c) {
    const int below = c + 1 < kClasses.size() ? kClasses[c + 1].interactions : 0;
    const auto end = static_cast<std::size_t>(
        std::lower_bound(counts.begin() + static_cast<std::ptrdiff_t>(first), counts.end(), below,
                         std::greater<>()) -
        counts.begin());
    if (end == first) continue;
    const int strips = problem.padded / 16;
    const Launch run = kClasses[c].warps == 1 ? find_launch<1>(strips) : find_launch<2>(strips);
    run(problem, tasks + first, static_cast<int>(end - first), kClasses[c].interactions, stream);
    first = end;
  }
}

}  // namespace likewise::cuda
