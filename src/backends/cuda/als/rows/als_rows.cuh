// SPDX-License-Identifier: Apache-2.0
/// The kernel behind als_rows.h: one block per task.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/instances.h"
#include "backends/cuda/als/rows/ring.cuh"
#include "backends/cuda/als/rows/solve.cuh"
#include "backends/cuda/als/rows/sums.cuh"
#include "backends/cuda/device/check.h"

namespace likewise::cuda {

template <class Format, int kStrips, bool kExact>
struct RowKernel {
  using Shape = ShapeOf<Format, kStrips>;
  using Copier = RowCopier<Format, kStrips>;
  using Ring = RowRing<Format, Copier>;
  using Summing = RowSums<Format, kStrips>;
  using Total = typename Format::Total;
  using Solve = std::conditional_t<kExact, RowCholesky<Format, kStrips>, RowSolve<Format, kStrips>>;
  static constexpr bool kStoresTiles = kExact && std::is_same_v<Format, FloatFormat>;
  /// Blocks that a multiprocessor should hold; sets how many registers a thread may have.
  static constexpr int kBlocks = Shape::kSide == 1   ? (kStrips > 4 ? 8 : 12)
                                 : Shape::kSide == 2 ? (kStrips > 8 ? 2 : 3)
                                                     : 1;

  /// Adds a stage's interactions.
  template <Part kPart>
  static __device__ __forceinline__ void add_stage(std::uint32_t rows, const unsigned char* weights,
                                                   int groups, const typename Shape::Place& p,
                                                   typename Shape::Sums& sums) {
#pragma unroll(Summing::kLoadsLate ? 1 : 2)
    for (int group = 0; group < groups; ++group) {
      Summing::template add_group<kPart>(p, rows + group * Format::kGroup * Copier::kPitch,
                                         weights + group * Format::kGroup * Format::kBytes, sums);
    }
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask task,
                                             unsigned char* shared) {
    const typename Shape::Place p = Shape::place();
    typename Shape::Sums sums;
    Summing::for_each_sum(sums, [](float& x, int) { x = 0.0F; });
    const RowBounds bounds(problem, task.row);
    Total constant = 0;
    if (task.slots > 0) {
      const double pieces = Summing::load_pieces(problem, task, p, sums);
      if (task.count == kCarryOn) {
        Shape::synchronize();  // the slot may be one of those that were read
        Summing::store_piece(problem, kCarrySlot, p, sums, pieces);
        return;
      }
      constant = static_cast<Total>(pieces);
    } else {
      Ring ring(problem, task, bounds, Copier(problem, shared), shared);
      ring.run(problem, [&](std::uint32_t rows, const unsigned char* weights, int groups) {
        Shape::for_part(p,
                        [&](auto part) { add_stage<part.value>(rows, weights, groups, p, sums); });
      });
      constant = ring.sum_constant();
    }
    if (task.slot >= 0 && task.slots == 0) {
      if constexpr (kStoresTiles) {
        if (problem.bounded > 0) {
          return Summing::store_tiles(problem, task.slot, p, sums, constant);
        }
      }
      Summing::store_piece(problem, task.slot, p, sums, constant);
      return;
    }
    const float inverse_scale = 1.0F / problem.scale;
    Solve::run(problem, task.row, p, reinterpret_cast<float*>(shared), sums,
               bounds.w * inverse_scale * inverse_scale, bounds.v * inverse_scale, constant);
  }
};

template <class Format, int kStrips, bool kExact>
__global__ void __launch_bounds__(ShapeOf<Format, kStrips>::kThreads,
                                  RowKernel<Format, kStrips, kExact>::kBlocks)
    row_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks) {
  extern __shared__ __align__(16) unsigned char shared[];
  RowKernel<Format, kStrips, kExact>::run(problem, tasks[blockIdx.x], shared);
}

template <class Format, int kStrips, bool kExact>
void launch_rows(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream) {
  constexpr int kBytes = kRowBytes<Format, kStrips, kExact>;
  const auto kernel = row_kernel<Format, kStrips, kExact>;
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<count, ShapeOf<Format, kStrips>::kThreads, kBytes, stream>>>(problem, tasks);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
