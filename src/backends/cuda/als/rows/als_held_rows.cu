// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/held_rows.cuh"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"

namespace likewise::cuda {
namespace {

/// Of tables of so many strips, for rows of up to so many interactions.
struct HeldKernel {
  int strips;
  int interactions;
  void (*launch)(const RowProblem&, const RowTask*, int, bool, cudaStream_t);
};

/// `follows`: the launch before this one in the stream is one of these too, and the two may
/// overlap.
template <int kStrips, int kWarps, int kTiles>
void launch_held(const RowProblem& problem, const RowTask* tasks, int count, bool follows,
                 cudaStream_t stream) {
  using Shape = HeldShape<kStrips, kWarps, kTiles>;
  constexpr int kBytes = Shape::bytes(Shape::kBuffers);
  allow_shared_memory(held_kernel<Shape>, kBytes);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(static_cast<unsigned>(
      std::min(multiprocessor_count(), (count + Shape::kSlots - 1) / Shape::kSlots)));
  how.blockDim = dim3(Shape::kThreads);
  how.dynamicSmemBytes = kBytes;
  how.stream = stream;
  how.attrs = &early;
  how.numAttrs = follows ? 1 : 0;
  LIKEWISE_CUDA_CHECK(cudaLaunchKernelEx(&how, held_kernel<Shape>, problem, tasks, count));
}

template <int kStrips, int kWarps, int kTiles>
constexpr HeldKernel kKernel{kStrips, HeldShape<kStrips, kWarps, kTiles>::kInteractions,
                             launch_held<kStrips, kWarps, kTiles>};

/// By strips, and then by interactions. Fewer warps with more tiles each are faster, where their
/// registers hold them.
constexpr HeldKernel kKernels[] = {
    kKernel<5, 1, 3>,  kKernel<5, 1, 4>,  kKernel<5, 2, 3>,  kKernel<5, 2, 4>,  kKernel<5, 2, 6>,
    kKernel<5, 4, 4>,  kKernel<6, 1, 3>,  kKernel<6, 1, 4>,  kKernel<6, 2, 3>,  kKernel<6, 2, 4>,
    kKernel<6, 2, 6>,  kKernel<6, 4, 4>,  kKernel<7, 1, 3>,  kKernel<7, 1, 4>,  kKernel<7, 2, 3>,
    kKernel<7, 2, 4>,  kKernel<7, 4, 3>,  kKernel<7, 4, 4>,  kKernel<8, 1, 3>,  kKernel<8, 1, 4>,
    kKernel<8, 2, 3>,  kKernel<8, 2, 4>,  kKernel<8, 4, 3>,  kKernel<8, 4, 4>,  kKernel<9, 1, 3>,
    kKernel<9, 2, 2>,  kKernel<9, 2, 3>,  kKernel<9, 4, 2>,  kKernel<9, 4, 3>,  kKernel<9, 8, 2>,
    kKernel<10, 1, 3>, kKernel<10, 2, 2>, kKernel<10, 2, 3>, kKernel<10, 4, 2>, kKernel<10, 4, 3>,
    kKernel<10, 8, 2>};

}  // namespace

bool has_sm_90a([[maybe_unused]] int major, [[maybe_unused]] int minor) {
#ifdef LIKEWISE_SM_90A
  return major == 9 && minor == 0;
#else
  return false;
#endif
}

std::vector<int> held_row_sizes(Precision precision, int padded) {
  std::vector<int> sizes;
  for (const HeldKernel& one : kKernels) {
    if (precision == Precision::kFp16 && 16 * one.strips == padded) {
      sizes.push_back(one.interactions);
    }
  }
  return sizes;
}

int solve_held_rows(const RowProblem& problem, const RowTask* tasks, std::span<const int> counts,
                    int short_rows, cudaStream_t stream) {
  // counts[k] tasks have at least k interactions, and come first.
  const auto longer_than = [&](int interactions) {
    const auto next = static_cast<std::size_t>(interactions) + 1;
    return next < counts.size() ? counts[next] : 0;
  };
  int done = 0;
  bool follows = false;
  for (auto one = std::rbegin(kKernels); one != std::rend(kKernels); ++one) {
    if (16 * one->strips != problem.padded) continue;
    const auto shorter = std::next(one);
    const bool shortest = shorter == std::rend(kKernels) || shorter->strips != one->strips;
    const int end = longer_than(std::max(short_rows, shortest ? 0 : shorter->interactions));
    if (end == done) continue;
    one->launch(problem, tasks + done, end - done, follows, stream);
    follows = true;
    done = end;
  }
  return done;
}

}  // namespace likewise::cuda
