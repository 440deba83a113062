// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/knn/knn_formula.cuh"
#include "backends/cuda/knn/knn_search.h"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 32 * kTileWarps;
constexpr int kBlocksAtATime = 2;  ///< of a multiprocessor
constexpr int kAhead = 4;          ///< segments whose entries are in flight

/// Adds what one entry of each has in common. Every sum of float32 numbers is exact (binary_places
/// saw to it), and so is every product in float64: fused or not, the result is the same.
template <int kSums, class T>
__device__ __forceinline__ void add_pair(T* at, int slots, T a, T b) {
  if constexpr (kSums == 1) {
    at[0] += a * b;
  } else if constexpr (kSums == 4) {
    at[0] += T{1};
    at[slots] += a * a;
    at[2 * slots] += b * b;
    at[3 * slots] += a * b;
  } else {
    at[0] += T{1};
    at[slots] += a;
    at[2 * slots] += b;
    at[3 * slots] += a * a;
    at[4 * slots] += b * b;
    at[5 * slots] += a * b;
  }
}

/// The sums of one slot, which are 0 afterwards.
template <int kSums, class T>
__device__ __forceinline__ PairSums take_sums(T* at, int slots) {
  double s[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    s[i] = at[i * slots];
    at[i * slots] = T{0};
  }
  PairSums sums;
  if constexpr (kSums == 1) {
    sums.n = s[0];  // not 0 where there is something in common; no formula of one sum reads it
    sums.xy = s[0];
  } else {
    sums.n = s[0];
    sums.xx = s[kSums - 3];
    sums.yy = s[kSums - 2];
    sums.xy = s[kSums - 1];
    if constexpr (kSums == 6) {
      sums.x = s[1];
      sums.y = s[2];
    }
  }
  return sums;
}

/// 32 entries of a query, one in each lane, and the segments of the warp's tile that they meet.
struct Meetings {
  Offset begin = 0;
  int length = 0;
  float weight = 0.0F;
};

/// A warp's walk along a query: columns rise, so every sum is added up in the order of the
/// reference, whatever the tiles.
template <int kSums, class T>
class Walk {
 public:
  __device__ Walk(const SearchTask& task, int round, T* tile)
      : task_(task),
        starts_(task.starts + Offset{round} * task.cols * kTileWarps + threadIdx.x / 32),
        tile_(tile),
        lane_(static_cast<int>(threadIdx.x % 32)) {}

  __device__ void run(Offset begin, Offset end) {
    load_entry(begin, end);
    Meetings now = meet();
    for (Offset e = begin; e < end; e += 32) {
      load_entry(e + 32, end);
      const Meetings next = meet();  // in flight while this one is added up
      add(now);
      now = next;
    }
  }

 private:
  __device__ __forceinline__ void load_entry(Offset begin, Offset end) {
    const Offset e = begin + lane_;
    column_ = e < end ? task_.columns[e] : -1;
    weight_ = e < end ? task_.weights[e] : 0.0F;
  }

  __device__ __forceinline__ Meetings meet() const {
    if (column_ < 0) return {};
    const Offset* at = starts_ + Offset{column_} * kTileWarps;
    const Offset begin = at[0];
    return {begin, static_cast<int>(at[1] - begin), weight_};
  }

  __device__ __forceinline__ void add(const Meetings& all) {
    unsigned int left = __ballot_sync(0xffffffffU, all.length > 0);
    while (left != 0) {
      const SlotEntry* from[kAhead];
      SlotEntry head[kAhead];
      int length[kAhead];
      float weight[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int source = left != 0 ? __ffs(static_cast<int>(left)) - 1 : 0;
        length[u] = __shfl_sync(0xffffffffU, all.length, source);
        if (left == 0) length[u] = 0;
        from[u] = task_.entries + __shfl_sync(0xffffffffU, all.begin, source) + lane_;
        weight[u] = __shfl_sync(0xffffffffU, all.weight, source);
        left &= left - 1;
        head[u] = lane_ < length[u] ? *from[u] : SlotEntry{0, 0.0F};
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        add_entry(lane_ < length[u], head[u], weight[u]);
        if (length[u] > 32) add_tail(from[u], length[u], weight[u]);
        __syncwarp();  // the next column may have the same rows
      }
    }
  }

  __device__ void add_tail(const SlotEntry* from, int length, float weight) {
    for (int done = 32; done < length; done += 32 * kAhead) {
      SlotEntry some[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int at = done + 32 * u;
        some[u] = lane_ + at < length ? from[at] : SlotEntry{0, 0.0F};
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) add_entry(lane_ + done + 32 * u < length, some[u], weight);
    }
  }

  __device__ __forceinline__ void add_entry(bool valid, const SlotEntry& entry, float weight) {
    if (!valid) return;
    add_pair<kSums, T>(tile_ + entry.slot, task_.plan.slots, static_cast<T>(weight),
                       static_cast<T>(entry.weight));
  }

  const SearchTask& task_;
  const Offset* starts_;
  T* tile_;
  int lane_;
  Index column_ = -1;
  float weight_ = 0.0F;
};

/// What a block draws: a query, or a part of one.
struct Drawn {
  Index query;
  Index parts;  ///< 0: the whole
  Offset begin;
  Offset end;
};

[[nodiscard]] __device__ __forceinline__ Index row_of(const SearchTask& task, Index query) {
  const Index place = task.first + query * task.step;
  return task.order == nullptr ? place : task.order[place];
}

/// False where nothing is left.
[[nodiscard]] __device__ __forceinline__ bool draw(const SearchTask& task, Index number,
                                                   Drawn& drawn) {
  if (number < task.part_count) {
    const QueryPart part = task.parts[number];
    drawn = {part.query, part.parts, part.begin, part.end};
    return true;
  }
  const Index query = number - task.part_count + task.shared;
  if (query >= task.count) return false;
  const Index row = row_of(task, query);
  drawn = {query, 0, task.offsets[row], task.offsets[row + 1]};
  return true;
}

/// The row that slot `slot` of this round's warp `warp` stands for.
[[nodiscard]] __device__ __forceinline__ Index row_at(const SearchTask& task, int round, int warp,
                                                      int slot) {
  return slot * task.plan.tiles + round * kTileWarps + warp;
}

/// Calls visit(warp, slot, y, valid) for all sums of a round. Whole turns: all threads together.
template <class Visit>
__device__ __forceinline__ void for_slots(const SearchTask& task, int round, const Visit& visit) {
  const int slots = task.plan.slots;
  for (int turn = 0; turn * kThreads < kTileWarps * slots; ++turn) {
    const int warp = static_cast<int>(threadIdx.x) % kTileWarps;
    const int slot = (turn * kThreads + static_cast<int>(threadIdx.x)) / kTileWarps;
    const Index y = row_at(task, round, warp, slot);
    visit(warp, slot, y, slot < slots && y < task.rows);
  }
}

/// Adds a part's sums of a round to those of its query, and clears them.
template <int kSums, class T>
__device__ __forceinline__ void add_part(const SearchTask& task, int round, Index query, T* sums) {
  for_slots(task, round, [&](int warp, int slot, Index y, bool valid) {
    if (!valid) return;
    T* const at = sums + warp * task.plan.pitch + slot;
    float* const to = task.part_sums + Offset{query} * kSums * task.rows + y;
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      const T sum = at[i * task.plan.slots];
      if (sum == T{0}) continue;
      atomicAdd(to + Offset{i} * task.rows, static_cast<float>(sum));
      at[i * task.plan.slots] = T{0};
    }
  });
}

/// The sums of a query whose parts were all added.
template <int kSums>
[[nodiscard]] __device__ __forceinline__ PairSums sums_of_parts(const SearchTask& task, Index query,
                                                                Index y) {
  float s[kSums];
  const float* const from = task.part_sums + Offset{query} * kSums * task.rows + y;
#pragma unroll
  for (int i = 0; i < kSums; ++i) s[i] = __ldcg(from + Offset{i} * task.rows);
  return take_sums<kSums>(s, 1);
}

/// The key of a row that the query at `place` may have in its list; 0: it does not count.
[[nodiscard]] __device__ __forceinline__ std::uint64_t listed_key(const SearchTask& task,
                                                                  Index place, Index y, float score,
                                                                  double common) {
  if (task.tied == nullptr) return key_of(score, task.by_rank ? y : task.stats.row[y]);
  if (score != task.tied[place]) return 0;
  return std::uint64_t{static_cast<std::uint32_t>(common)} << 32 |
         (0xFFFFFFFFU - static_cast<std::uint32_t>(task.stats.row[y]));
}

/// A block takes one query at a time, a warp 1/16 of the rows that it is compared with; their sums
/// lie in shared memory (plan_tiles), one warp's apart from the others', so that nothing is added
/// atomically. Then all threads turn sums into similarities, and those above the worst of a full
/// list become candidates. Fast because the sums never leave the multiprocessor, and the entries of
/// a column are read in order by the warps that need them. A query that would take a block longer
/// than all others take comes in parts: their sums meet in the GPU's memory, and the block that
/// adds the last part goes on from there.
template <int kSums, class T>
__global__ void __launch_bounds__(kThreads, kBlocksAtATime)
    search_kernel(const __grid_constant__ SearchTask task) {
  extern __shared__ std::uint64_t shared[];
  __shared__ BestKeys best;
  __shared__ unsigned int number;
  __shared__ bool last;
  const bool in_shared = task.key_capacity <= kSharedKeys;
  std::uint64_t* const keys =
      in_shared ? shared : task.spare_keys + Offset{blockIdx.x} * task.key_capacity;
  T* const sums = reinterpret_cast<T*>(shared + kSharedKeys);
  const int pitch = task.plan.pitch;
  for (int i = threadIdx.x; i < kTileWarps * pitch; i += kThreads) sums[i] = T{0};

  while (true) {
    if (threadIdx.x == 0) {
      number = atomicAdd(task.next, 1U);
      best = {0, 0};
    }
    __syncthreads();
    Drawn drawn;
    if (!draw(task, static_cast<Index>(number), drawn)) return;
    const Index query = drawn.query;
    const Index row = row_of(task, query);
    const Index place = task.first + query * task.step;
    const RowStats x{task.norms[place], task.counts[place], task.noises[place]};
    const auto offer = [&](int round, const auto& sums_at) {
      for_slots(task, round, [&](int warp, int slot, Index y, bool valid) {
        float score = 0.0F;
        double common = 0.0;
        if (valid) {
          const PairSums s = sums_at(warp, slot, y);
          common = s.n;
          if (s.n != 0.0) score = pair_similarity(task.formula, x, GpuRow{task.stats, y}, s);
          if (task.scores != nullptr) {
            task.scores[Offset{query} * task.rows + task.stats.row[y]] = score;
          }
        }
        if (task.scores != nullptr) return;
        const bool other = score != 0.0F && task.stats.row[y] != row;
        offer_keys<kThreads>(best, keys, task.key_capacity, task.k,
                             other ? listed_key(task, place, y, score, common) : 0);
      });
    };
    for (int round = 0; round < task.plan.rounds; ++round) {
      Walk<kSums, T>(task, round, sums + (threadIdx.x / 32) * pitch).run(drawn.begin, drawn.end);
      __syncthreads();
      if (drawn.parts > 0) {
        add_part<kSums>(task, round, query, sums);
      } else {
        offer(round, [&](int warp, int slot, Index) {
          return take_sums<kSums>(sums + warp * pitch + slot, task.plan.slots);
        });
      }
      __syncthreads();
    }
    if (task.scores != nullptr) continue;
    if (drawn.parts > 0) {
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) {
        last = atomicAdd(task.arrived + query, 1U) + 1 == static_cast<unsigned int>(drawn.parts);
      }
      __syncthreads();
      if (!last) continue;
      __threadfence();
      for (int round = 0; round < task.plan.rounds; ++round) {
        offer(round, [&](int, int, Index y) { return sums_of_parts<kSums>(task, query, y); });
      }
      __syncthreads();
    }
    prune_keys<kThreads>(best, keys, task.k);
    const int found = best.count;
    for (int i = threadIdx.x; i < found; i += kThreads) {
      task.lists[Offset{query} * task.k + i] = candidate_of(keys[i]);
    }
    if (threadIdx.x == 0) task.found[query] = found;
    __syncthreads();
  }
}

using Kernel = void (*)(SearchTask);

[[nodiscard]] Kernel kernel_of(const TilePlan& plan) {
  const bool wide = plan.number_bytes == 8;
  switch (plan.sums) {
    case 1:
      return wide ? search_kernel<1, double> : search_kernel<1, float>;
    case 4:
      return wide ? search_kernel<4, double> : search_kernel<4, float>;
    default:
      return wide ? search_kernel<6, double> : search_kernel<6, float>;
  }
}

}  // namespace

int key_capacity(Index k) {
  int capacity = kSharedKeys;
  while (capacity < Offset{k} + kThreads) capacity *= 2;
  return capacity;
}

int search_shared_memory() {
  constexpr int kOurs = 64;  // BestKeys and the like
  const int reserved = device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const int all = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  return std::min(largest_shared_memory(), all / kBlocksAtATime - reserved) - kOurs;
}

int search_blocks(const TilePlan& plan) {
  const Kernel kernel = kernel_of(plan);
  allow_shared_memory(kernel, plan.shared_bytes());
  int blocks = 0;
  LIKEWISE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, kThreads, static_cast<std::size_t>(plan.shared_bytes())));
  return std::max(1, blocks) * multiprocessor_count();
}

void search_rows(const SearchTask& task, int blocks, cudaStream_t stream) {
  const Index work = task.part_count + task.count - task.shared;
  kernel_of(task.plan)<<<std::min(blocks, work), kThreads,
                         static_cast<std::size_t>(task.plan.shared_bytes()), stream>>>(task);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
