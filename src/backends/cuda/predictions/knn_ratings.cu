// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/host/prediction_plan.h"
#include "backends/cuda/predictions/knn_ratings.h"

namespace likewise::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffffU;
constexpr int kScatterThreads = 128;
constexpr int kSortThreads = 512;
constexpr int kMostSortMemory = 128 << 10;
constexpr int kWalkWarps = 4;
constexpr int kAhead = 4;  ///< segments of a walk whose entries are in flight

__global__ void __launch_bounds__(kScatterThreads)
    scatter_kernel(const Offset* offsets, const Index* near, const float* similarities,
                   const Index* rows, Index all, float* out) {
  const Index row = rows[blockIdx.x];
  float* const to = out + Offset{blockIdx.x} * all;
  for (Offset e = offsets[row] + threadIdx.x; e < offsets[row + 1]; e += kScatterThreads) {
    to[near[e]] = similarities[e];
  }
}

/// A block sorts the rows that one row may ask.
__global__ void __launch_bounds__(kSortThreads)
    sort_kernel(const __grid_constant__ RatingRows rows, Index all, bool in_shared) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ int count;
  const auto x = static_cast<Index>(blockIdx.x);
  const Index own = rows.rows[x];
  const float* const similarities = rows.similarities + Offset{x} * all;
  std::uint64_t* const near = rows.near + x * rows.pitch;
  std::uint64_t* const keys = in_shared ? reinterpret_cast<std::uint64_t*>(memory) : near;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (Index begin = 0; begin < all; begin += kSortThreads) {
    const Index v = begin + static_cast<Index>(threadIdx.x);
    const float s = v < all ? similarities[v] : 0.0F;
    const bool asked = s != 0.0F && v != own;
    const unsigned takers = __ballot_sync(kAllLanes, asked);
    int base = 0;
    if (lane == 0 && takers != 0) base = atomicAdd(&count, __popc(takers));
    base = __shfl_sync(kAllLanes, base, 0);
    if (asked) keys[base + __popc(takers & ((1U << lane) - 1))] = key_of(s, v);
  }
  __syncthreads();
  const int found = count;
  int size = 2;
  while (size < found) size *= 2;
  for (int i = found + static_cast<int>(threadIdx.x); i < size; i += kSortThreads) keys[i] = 0;
  __syncthreads();
  sort_keys<kSortThreads>(keys, size);
  if (in_shared) {
    for (int i = static_cast<int>(threadIdx.x); i < found; i += kSortThreads) near[i] = keys[i];
  }
  // The rest of the 32 keys that a warp reads at a time.
  const auto end = found + static_cast<int>(threadIdx.x);
  if (end < (found / 32 + 1) * 32 && end < rows.pitch) near[end] = 0;
}

/// The sums of a strip of columns, and how many more rows each asks.
struct StripSums {
  double products[kStripColumns];
  double weights[kStripColumns];
  std::uint32_t left[kStripColumns];
};

/// The entries of a row in a strip.
struct Segment {
  Offset begin = 0;
  int length = 0;
};

/// The first entry in [begin, end) whose place is `place` or behind it.
__device__ __forceinline__ Offset first_entry(const Index* places, Offset begin, Offset end,
                                              Index place) {
  while (begin < end) {
    const Offset middle = begin + (end - begin) / 2;
    if (places[middle] < place) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

__device__ __forceinline__ Segment segment_of(const RatingTables& tables, Index row, Index strip) {
  const Offset* const start =
      tables.starts + Offset{row} * (tables.cells + 1) + strip / tables.strips_of_cell;
  Offset begin = start[0];
  Offset end = start[1];
  if (tables.strips_of_cell > 1) {
    begin = first_entry(tables.places, begin, end, strip * kStripColumns);
    end = first_entry(tables.places, begin, end, (strip + 1) * kStripColumns);
  }
  return {begin, static_cast<int>(end - begin)};
}

/// A warp's walk over the rows that one row may ask, best first. Each gives what it has to those
/// columns of the strip that ask for more; no two lanes meet in a column. Fast because the sums
/// never leave the multiprocessor, warps wait for nobody, and a strip whose columns have enough
/// ends its walk: the first strips hold the columns with most raters.
class StripWalk {
 public:
  __device__ StripWalk(const RatingTables& tables, Index strip, StripSums& sums)
      : tables_(tables),
        sums_(sums),
        strip_(strip),
        first_(strip * kStripColumns),
        size_(min(kStripColumns, tables.columns - first_)),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ void run(const std::uint64_t* near, Offset pitch) {
    int open = clear();
    for (Offset base = 0; open > 0; base += 32) {
      const std::uint64_t key = base + lane_ < pitch ? near[base + lane_] : 0;
      const unsigned ends = __ballot_sync(kAllLanes, key == 0);
      const Candidate row = candidate_of(key);
      Segment segment;
      // What is behind the end is nothing.
      if ((ends & ((2U << lane_) - 1U)) == 0) segment = segment_of(tables_, row.item, strip_);
      open -= __reduce_add_sync(kAllLanes, add(segment, row.score));
      if (ends != 0) break;
    }
  }

  /// `out`: every rating of the row.
  __device__ void write(const RowLevel& level, float* out) const {
    for (Index i = lane_; i < size_; i += 32) {
      const Index column = tables_.column_of[first_ + i];
      const RatingSums sums{sums_.products[i], sums_.weights[i], asks(column) - sums_.left[i]};
      out[column] = knn_rating(tables_.formula, level, tables_.column_levels[column], sums);
    }
  }

 private:
  /// How many rows a column asks at most.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t asks(Index column) const {
    const Offset raters = tables_.offsets[column + 1] - tables_.offsets[column];
    return static_cast<std::uint32_t>(min(raters, static_cast<Offset>(tables_.formula.most_asked)));
  }

  /// How many columns ask for rows.
  [[nodiscard]] __device__ int clear() {
    int open = 0;
    for (Index i = lane_; i < size_; i += 32) {
      sums_.products[i] = 0.0;
      sums_.weights[i] = 0.0;
      sums_.left[i] = asks(tables_.column_of[first_ + i]);
      open += sums_.left[i] > 0 ? 1 : 0;
    }
    __syncwarp();
    return __reduce_add_sync(kAllLanes, open);
  }

  /// The rows of all lanes, in their order; how many columns of this lane's have enough now.
  [[nodiscard]] __device__ int add(const Segment& mine, float similarity) {
    int closed = 0;
    unsigned todo = __ballot_sync(kAllLanes, mine.length > 0);
    while (todo != 0) {
      Offset begin[kAhead];
      int length[kAhead];
      float s[kAhead];
      Index place[kAhead];
      float deviation[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int source = todo != 0 ? __ffs(static_cast<int>(todo)) - 1 : 0;
        begin[u] = __shfl_sync(kAllLanes, mine.begin, source);
        length[u] = __shfl_sync(kAllLanes, mine.length, source);
        s[u] = __shfl_sync(kAllLanes, similarity, source);
        if (todo == 0) length[u] = 0;
        todo &= todo - 1;
        const bool valid = lane_ < length[u];
        place[u] = valid ? tables_.places[begin[u] + lane_] : 0;
        deviation[u] = valid ? tables_.deviations[begin[u] + lane_] : 0.0F;
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        if (lane_ < length[u]) closed += add_entry(place[u], s[u], deviation[u]);
        for (int at = lane_ + 32; at < length[u]; at += 32) {
          closed +=
              add_entry(tables_.places[begin[u] + at], s[u], tables_.deviations[begin[u] + at]);
        }
        __syncwarp();  // the next row may have the same columns
      }
    }
    return closed;
  }

  /// 1 where the column has enough now.
  [[nodiscard]] __device__ __forceinline__ int add_entry(Index place, float similarity,
                                                         float deviation) {
    const Index i = place - first_;
    const std::uint32_t left = sums_.left[i];
    if (left == 0) return 0;
    RatingSums sums{sums_.products[i], sums_.weights[i], 0};
    sums.add(similarity, deviation);
    sums_.products[i] = sums.products;
    sums_.weights[i] = sums.weights;
    sums_.left[i] = left - 1;
    return left == 1 ? 1 : 0;
  }

  const RatingTables& tables_;
  StripSums& sums_;
  Index strip_;
  Index first_;
  Index size_;
  int lane_;
};

/// A warp takes a strip of one row's ratings; they share nothing.
__global__ void __launch_bounds__(32 * kWalkWarps)
    walk_kernel(const __grid_constant__ RatingTables tables,
                const __grid_constant__ RatingRows rows, Index first, float* out) {
  __shared__ StripSums sums[kWalkWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto strip = static_cast<Index>(blockIdx.x) * kWalkWarps + warp;
  if (strip >= tables.strips) return;
  const Index x = first + static_cast<Index>(blockIdx.y);
  StripWalk walk(tables, strip, sums[warp]);
  walk.run(rows.near + x * rows.pitch, rows.pitch);
  walk.write(tables.levels[rows.rows[x]], out + Offset{x} * tables.columns);
}

/// A block takes a pair: it keeps the best of those who have the column, sorts them, and one thread
/// adds them up in their order.
__global__ void __launch_bounds__(kPairThreads)
    pairs_kernel(const __grid_constant__ RatingTables tables,
                 const __grid_constant__ RatingRows rows, const __grid_constant__ RatingPairs pairs,
                 float* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ BestKeys best;
  std::uint64_t* const keys = pairs.spare == nullptr
                                  ? reinterpret_cast<std::uint64_t*>(memory)
                                  : pairs.spare + Offset{blockIdx.x} * pairs.keys;
  for (auto p = static_cast<Index>(blockIdx.x); p < pairs.count;
       p += static_cast<Index>(gridDim.x)) {
    const Index x = pairs.rows[p];
    const Index own = rows.rows[x];
    const Index column = pairs.columns[p];
    const float* const similarities = rows.similarities + Offset{x} * tables.rows;
    const Offset first = tables.offsets[column];
    const auto raters = static_cast<Index>(tables.offsets[column + 1] - first);
    const int most = max(
        1, static_cast<int>(min(static_cast<std::uint32_t>(raters), tables.formula.most_asked)));
    if (threadIdx.x == 0) best = {0, 0};
    __syncthreads();
    for (Index begin = 0; begin < raters; begin += kPairThreads) {
      const Index e = begin + static_cast<Index>(threadIdx.x);
      std::uint64_t key = 0;
      if (e < raters) {
        const Index v = tables.raters[first + e];
        const float s = similarities[v];
        if (s != 0.0F && v != own) key = key_of(s, e);  // entries rise with rows
      }
      offer_keys<kPairThreads>(best, keys, pairs.keys, most, key);
    }
    prune_keys<kPairThreads>(best, keys, most);
    const int asked = best.count;
    for (int i = static_cast<int>(threadIdx.x); i < asked; i += kPairThreads) {
      const Candidate rater = candidate_of(keys[i]);
      keys[i] = as<std::uint64_t>(float2{rater.score, tables.rater_deviations[first + rater.item]});
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      RatingSums sums;
      for (int i = 0; i < asked; ++i) {
        const auto pair = as<float2>(keys[i]);
        sums.add(pair.x, pair.y);
      }
      out[p] = knn_rating(tables.formula, tables.levels[own], tables.column_levels[column], sums);
    }
    __syncthreads();
  }
}

}  // namespace

void scatter_kept(const Offset* offsets, const Index* near, const float* similarities,
                  const Index* rows, Index count, Index all, float* out, cudaStream_t stream) {
  if (count == 0) return;
  LIKEWISE_CUDA_CHECK(cudaMemsetAsync(
      out, 0, static_cast<std::size_t>(Offset{count} * all) * sizeof(float), stream));
  scatter_kernel<<<static_cast<unsigned>(count), kScatterThreads, 0, stream>>>(
      offsets, near, similarities, rows, all, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void sort_near(const RatingTables& tables, const RatingRows& rows, cudaStream_t stream) {
  if (rows.count == 0) return;
  const Offset bytes = rows.pitch * Offset{sizeof(std::uint64_t)};
  const bool in_shared = bytes <= std::min(kMostSortMemory, largest_shared_memory() - 64);
  const auto shared = static_cast<std::size_t>(in_shared ? bytes : 0);
  allow_shared_memory(sort_kernel, static_cast<int>(shared));
  sort_kernel<<<static_cast<unsigned>(rows.count), kSortThreads, shared, stream>>>(
      rows, tables.rows, in_shared);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void walk_rows(const RatingTables& tables, const RatingRows& rows, Index first, Index count,
               float* out, cudaStream_t stream) {
  if (count == 0 || tables.columns == 0) return;
  const dim3 grid(static_cast<unsigned>((tables.strips - 1) / kWalkWarps + 1),
                  static_cast<unsigned>(count));
  walk_kernel<<<grid, 32 * kWalkWarps, 0, stream>>>(tables, rows, first, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void rate_pairs(const RatingTables& tables, const RatingRows& rows, const RatingPairs& pairs,
                float* out, cudaStream_t stream) {
  if (pairs.count == 0) return;
  const auto blocks =
      static_cast<unsigned>(std::min(pairs.count, pairs.spare == nullptr ? 1 << 16 : pairs.blocks));
  const std::size_t shared =
      pairs.spare == nullptr ? static_cast<std::size_t>(pairs.keys) * sizeof(std::uint64_t) : 0;
  pairs_kernel<<<blocks, kPairThreads, shared, stream>>>(tables, rows, pairs, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
