// SPDX-License-Identifier: Apache-2.0
#include <cub/block/block_scan.cuh>
#include <math_constants.h>

#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/knn/knn_candidates.h"
#include "backends/cuda/knn/knn_formula.cuh"

namespace likewise::cuda {
namespace {

constexpr int kChooseThreads = 128;
constexpr int kClasses = 2048;  // of cosines, 2^-10 wide
constexpr int kOwnClasses = kClasses / kChooseThreads;
constexpr int kPlaces = kClasses + kChooseThreads;  // of their counts; the last one is for the rest
constexpr int kChooseAhead = 4;                     // loads of a thread in flight
constexpr int kColumns = 32;                        // of one stage
constexpr int kStages = 4;
constexpr int kSortThreads = 64;

/// Never rises by more than 2^-24 when it is turned into a class and back: the error has room.
__device__ __forceinline__ int class_of(float cosine) {
  return min(static_cast<int>(__saturatef(fmaf(cosine, 0.5F, 0.5F)) * kClasses), kClasses - 1);
}
__device__ __forceinline__ float lower_edge(int index) {
  return static_cast<float>(index) * (2.0F / kClasses) - 1.0F;
}
/// Threads that own neighbouring classes read them from different banks.
__device__ __forceinline__ int place_of(int index) {
  return index + static_cast<int>(static_cast<unsigned>(index) / kOwnClasses);
}

/// visit(y, cosine) for all rows y, by all threads of the block.
template <class Visit>
__device__ __forceinline__ void for_each_cosine(const CandidateTask& task, Index query,
                                                const Visit& visit) {
  const auto* const cosines =
      reinterpret_cast<const float4*>(task.cosines + Offset{query} * task.cosine_pitch);
  const Index units = task.cosine_pitch / 4;
  for (Index begin = 0; begin < units; begin += kChooseAhead * kChooseThreads) {
    float4 some[kChooseAhead];
#pragma unroll
    for (int u = 0; u < kChooseAhead; ++u) {
      const Index unit = begin + u * kChooseThreads + static_cast<Index>(threadIdx.x);
      some[u] = unit < units ? cosines[unit]
                             : float4{CUDART_NAN_F, CUDART_NAN_F, CUDART_NAN_F, CUDART_NAN_F};
    }
#pragma unroll
    for (int u = 0; u < kChooseAhead; ++u) {
      const Index y = 4 * (begin + u * kChooseThreads + static_cast<Index>(threadIdx.x));
      visit(y, some[u].x);
      visit(y + 1, some[u].y);
      visit(y + 2, some[u].z);
      visit(y + 3, some[u].w);
    }
  }
}

/// A block finds the least cosine of one row's candidates: it counts cosines by class, walks down
/// from the highest class to the one that the k-th falls in, and goes 2 e below that. Fast because
/// nothing is sorted.
__global__ void __launch_bounds__(kChooseThreads)
    limit_kernel(const __grid_constant__ CandidateTask task) {
  using Scan = cub::BlockScan<int, kChooseThreads>;
  __shared__ int members[kPlaces];
  __shared__ Scan::TempStorage scan;
  __shared__ float least;
  const Index query = static_cast<Index>(blockIdx.x);
  const Index row = task.first + query;
#pragma unroll
  for (int i = 0; i < kPlaces / kChooseThreads; ++i) members[i * kChooseThreads + threadIdx.x] = 0;
  if (threadIdx.x == 0) least = task.formula.keep_negative ? -2.0F : -task.error;
  __syncthreads();
  for_each_cosine(task, query, [&](Index y, float cosine) {
    const float size = task.formula.keep_negative ? fabsf(cosine) : cosine;
    const bool certain = size > task.error && y != row;
    atomicAdd(members + (certain ? place_of(class_of(cosine)) : kPlaces - 1), 1);
  });
  __syncthreads();
  const int highest = kClasses - 1 - static_cast<int>(threadIdx.x) * kOwnClasses;
  int own = 0;
#pragma unroll
  for (int i = 0; i < kOwnClasses; ++i) own += members[place_of(highest - i)];
  int above = 0;
  Scan(scan).ExclusiveSum(own, above);
  if (above < task.k && above + own >= task.k) {
    int index = highest;
    while ((above += members[place_of(index)]) < task.k) --index;
    least = lower_edge(index) - 2.0F * task.error;
  }
  __syncthreads();
  if (threadIdx.x == 0) task.least[query] = least;
}

/// A block finds the candidates of one row. Of two rows that are candidates of each other one is
/// charged with the pair, in turn the one before and the one behind.
__global__ void __launch_bounds__(kChooseThreads)
    choose_kernel(const __grid_constant__ CandidateTask task) {
  __shared__ CandidateCount count;
  const Index query = static_cast<Index>(blockIdx.x);
  const Index row = task.first + query;
  const float least = task.least[query];
  Index* const candidates = task.candidates + Offset{query} * task.room;
  if (threadIdx.x == 0) count = {};
  __syncthreads();
  for_each_cosine(task, query, [&](Index y, float cosine) {
    if (!(cosine >= least) || y == row) return;
    const Index other = y - task.first;
    const bool charged = ((row ^ y) & 1) == (row < y ? 1 : 0);
    const bool own = charged || other < 0 || other >= task.count ||
                     !(task.cosines[Offset{other} * task.cosine_pitch + row] >= task.least[other]);
    const Index at = atomicAdd(own ? &count.own : &count.other, 1);
    if (at < task.room) candidates[own ? at : task.room - 1 - at] = y;
  });
  __syncthreads();
  if (threadIdx.x != 0) return;
  task.counts[query] = count.own + count.other > task.room ? CandidateCount{-1, 0} : count;
}

/// x 2^-896, by moving bits: in a quarter of the time of a conversion. Denormal numbers stay exact
/// too.
__device__ __forceinline__ double lowered(float x) {
  const int bits = __float_as_int(x);
  return __hiloint2double((bits >> 3) & static_cast<int>(0x8FFFFFFFU),
                          static_cast<int>(static_cast<unsigned>(bits) << 29));
}
__device__ __forceinline__ double raised(float x) { return static_cast<double>(x) * 0x1p896; }

/// 32 columns of a warp's candidates, 16-byte units turned by the row: neither copies nor reads
/// meet in a bank.
using Stage = float4[32 * kColumns / 4];
__device__ __forceinline__ int unit_at(int row, int unit) { return row * 8 + (unit ^ (row & 7)); }

/// A block of one warp scores own candidates of one row, 32 at a time, one a lane:
///   sum_c x_c y_c in float64, columns rising, as the reference adds them.
/// A product of two float32 is exact in float64, so a fused addition rounds as a separate one. Fast
/// because candidates come in whole lines while earlier ones are added up, and because many warps
/// wait for their additions side by side.
__global__ void __launch_bounds__(32) score_kernel(const __grid_constant__ CandidateTask task) {
  __shared__ __align__(128) Stage stages[kStages];
  __shared__ __align__(16) double own[2][kColumns];  // x, raised
  const int lane = static_cast<int>(threadIdx.x);
  const Index query = static_cast<Index>(blockIdx.x);
  const Index row = task.first + query;
  const Index count = task.counts[query].own;
  const int chunks = (task.cols + kColumns - 1) / kColumns;
  const float* const x = task.weights + Offset{row} * task.pitch + lane;
  const auto group = static_cast<Index>(blockIdx.y);
  for (Index begin = 32 * group; begin < count; begin += 32 * static_cast<Index>(gridDim.y)) {
    const Index at = begin + lane;
    const Index y = at < count ? task.candidates[Offset{query} * task.room + at] : row;
    const float* from[8];  // a copy takes four rows
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Index other = __shfl_sync(0xffffffffU, y, i * 4 + lane / 8);
      from[i] = task.weights + Offset{other} * task.pitch + lane % 8 * 4;
    }
    const auto fetch = [&](int chunk) {
      const std::uint32_t to = shared_address(stages[chunk % kStages]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int r = i * 4 + lane / 8;
        copy_16_async(to + unit_at(r, lane % 8) * 16, from[i] + chunk * kColumns,
                      begin + r < count && chunk < chunks);
      }
      commit_copies();
    };
    const auto own_weight = [&](int chunk) { return chunk < chunks ? x[chunk * kColumns] : 0.0F; };
    for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
    own[0][lane] = raised(own_weight(0));
    float next = own_weight(1);
    double sum = 0.0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      wait_for_copies<kStages - 2>();
      __syncwarp();
      const Stage& stage = stages[chunk % kStages];
      const auto* const a = reinterpret_cast<const double2*>(own[chunk % 2]);
#pragma unroll
      for (int unit = 0; unit < kColumns / 4; ++unit) {
        if (unit == 4) fetch(chunk + kStages - 1);  // while additions wait for each other
        const float4 b = stage[unit_at(lane, unit)];
        sum = fma(a[2 * unit].x, lowered(b.x), sum);
        sum = fma(a[2 * unit].y, lowered(b.y), sum);
        sum = fma(a[2 * unit + 1].x, lowered(b.z), sum);
        sum = fma(a[2 * unit + 1].y, lowered(b.w), sum);
      }
      own[(chunk + 1) % 2][lane] = raised(next);
      next = own_weight(chunk + 2);
    }
    wait_for_copies<0>();  // before the stages are filled again
    __syncwarp();
    if (at >= count) continue;
    const Index rank = task.rank_of[row];
    PairSums sums;
    sums.xy = sum;
    const float score = pair_similarity(
        task.formula, {task.stats.norm[rank], task.stats.count[rank], task.stats.noise[rank]},
        GpuRow{task.stats, task.rank_of[y]}, sums);
    task.cosines[Offset{query} * task.cosine_pitch + y] = score;
    const Index other = y - task.first;
    if (other >= 0 && other < task.count) {
      task.cosines[Offset{other} * task.cosine_pitch + row] = score;
    }
  }
}

/// A block sorts the candidates of one row.
__global__ void __launch_bounds__(kSortThreads)
    sort_kernel(const __grid_constant__ CandidateTask task) {
  __shared__ BestKeys best;
  __shared__ std::uint64_t keys[kMostCandidates];
  __shared__ Index listed;
  const Index query = static_cast<Index>(blockIdx.x);
  const auto [own, other] = task.counts[query];
  if (own < 0) {
    if (threadIdx.x == 0) task.found[query] = -1;
    return;
  }
  const Index* const candidates = task.candidates + Offset{query} * task.room;
  for (Index i = static_cast<Index>(threadIdx.x); i < own + other; i += kSortThreads) {
    const Index y = candidates[i < own ? i : task.room - 1 - (i - own)];
    const float score = task.cosines[Offset{query} * task.cosine_pitch + y];
    keys[i] = score != 0.0F ? key_of(score, task.by_rank ? task.rank_of[y] : y) : 0;
  }
  if (threadIdx.x == 0) {
    best.count = own + other;
    listed = 0;
  }
  __syncthreads();
  prune_keys<kSortThreads>(best, keys, task.k);
  for (int i = static_cast<int>(threadIdx.x); i < best.count; i += kSortThreads) {
    if (keys[i] == 0) continue;
    task.lists[Offset{query} * task.k + i] = candidate_of(keys[i]);
    if (i + 1 == best.count || keys[i + 1] == 0) listed = i + 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) task.found[query] = listed;
}

}  // namespace

void list_candidates(const CandidateTask& task, cudaStream_t stream) {
  limit_kernel<<<task.count, kChooseThreads, 0, stream>>>(task);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  choose_kernel<<<task.count, kChooseThreads, 0, stream>>>(task);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  // About half of a few more than k; where they are many, warps take several groups of 32.
  const dim3 groups(static_cast<unsigned>(task.count), static_cast<unsigned>(task.k / 64 + 2));
  score_kernel<<<groups, 32, 0, stream>>>(task);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  sort_kernel<<<task.count, kSortThreads, 0, stream>>>(task);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
