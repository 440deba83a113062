// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/instances.h"
#include "backends/cuda/als/rows/matrix_free.cuh"
#include "backends/cuda/device/shared_memory.h"

namespace likewise::cuda {
namespace {

constexpr int kMostStrips = 16;
constexpr int kMostWarps = 2;

using ShortLaunch = void (*)(const RowProblem&, const RowTask*, int, int, cudaStream_t);

template <int kStrips, int kWarps>
void launch_short(const RowProblem& problem, const RowTask* tasks, int count, int capacity,
                  cudaStream_t stream) {
  const int bytes = RowProducts<kStrips, kWarps>::shared_bytes(capacity);
  allow_shared_memory(product_kernel<kStrips, kWarps>, bytes);
  product_kernel<kStrips, kWarps><<<count, 32 * kWarps, bytes, stream>>>(problem, tasks, capacity);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

/// One kernel.
struct ShortKernel {
  ShortLaunch launch = nullptr;
  int (*bytes)(int capacity) = nullptr;
};

template <int kWarps>
[[nodiscard]] ShortKernel find_kernel(int strips) {
  ShortKernel found;
  [&]<int... kStrips>(std::integer_sequence<int, kStrips...>) {
    (
        [&] {
          if constexpr (has_row_kernel<HalfFormat, false>(kStrips + 1) ||
                        has_row_kernel<LargeTilesHalfFormat, false>(kStrips + 1)) {
            if (kStrips + 1 == strips) {
              found = {launch_short<kStrips + 1, kWarps>,
                       RowProducts<kStrips + 1, kWarps>::shared_bytes};
            }
          }
        }(),
        ...);
  }
  (std::make_integer_sequence<int, kMostStrips>{});
  return found;
}

}  // namespace

int short_row_bytes(Precision precision, int padded, int interactions) {
  if (precision != Precision::kFp16) return 0;
  const ShortKernel kernel = find_kernel<kMostWarps>(padded / 16);
  return kernel.bytes == nullptr ? 0 : kernel.bytes(interactions);
}

void solve_short_rows(const RowProblem& problem, const RowTask* tasks, std::span<const int> counts,
                      int done, int one_warp, cudaStream_t stream) {
  const int strips = problem.padded / 16;
  int first = done;
  for (std::size_t size = kShortRowSizes.size(); size > 0; --size) {
    const int capacity = kShortRowSizes[size - 1];
    const auto longer_than = static_cast<std::size_t>(size > 1 ? kShortRowSizes[size - 2] : 0);
    const int end = longer_than + 1 < counts.size() ? counts[longer_than + 1] : 0;
    if (end <= first) continue;
    const ShortKernel kernel =
        capacity <= one_warp ? find_kernel<1>(strips) : find_kernel<kMostWarps>(strips);
    kernel.launch(problem, tasks + first, end - first, capacity, stream);
    first = end;
  }
}

}  // namespace likewise::cuda
