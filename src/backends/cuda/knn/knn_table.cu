// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "backends/cuda/device/check.h"
#include "backends/cuda/knn/knn_table.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kMostPlaces = 8;
using Counter = unsigned long long;
static_assert(sizeof(Counter) == sizeof(Offset));

[[nodiscard]] int blocks_for(Offset threads) {
  return static_cast<int>(std::clamp<Offset>((threads + kBlock - 1) / kBlock, 1, 1 << 16));
}

struct Dealing {
  const Offset* offsets;
  const Index* columns;
  const float* weights;
  const Index* rank_of;
  Index rows;
  Index cols;
  int tiles;
};

/// visit(entry, segment, slot) for every entry; a warp takes a row at a time.
template <class Visit>
__device__ __forceinline__ void for_each_entry(const Dealing& deal, const Visit& visit) {
  const int lane = threadIdx.x % 32;
  const Offset warps = Offset{gridDim.x} * (kBlock / 32);
  for (Offset row = (Offset{blockIdx.x} * kBlock + threadIdx.x) / 32; row < deal.rows;
       row += warps) {
    const Index rank = deal.rank_of[row];
    const int tile = rank % deal.tiles;
    const Offset base = Offset{tile / kTileWarps} * deal.cols;
    for (Offset e = deal.offsets[row] + lane; e < deal.offsets[row + 1]; e += 32) {
      visit(e, (base + deal.columns[e]) * kTileWarps + tile % kTileWarps, rank / deal.tiles);
    }
  }
}

__global__ void count_kernel(Dealing deal, Counter* counts) {
  for_each_entry(deal, [&](Offset, Offset segment, Index) { atomicAdd(counts + segment, 1ULL); });
}

/// Moves each cursor from the start of its segment to the end.
__global__ void scatter_kernel(Dealing deal, Counter* cursors, SlotEntry* entries) {
  for_each_entry(deal, [&](Offset e, Offset segment, Index slot) {
    entries[atomicAdd(cursors + segment, 1ULL)] = {slot, deal.weights[e]};
  });
}

__global__ void places_kernel(const float* weights, Offset count, int* places) {
  int most = 0;
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < count;
       i += Offset{gridDim.x} * kBlock) {
    double w = weights[i];
    int needed = 0;
    while (needed <= kMostPlaces && w != rint(w)) {
      w *= 2.0;
      ++needed;
    }
    most = max(most, needed);
  }
  most = __reduce_max_sync(0xffffffffU, most);
  if (threadIdx.x % 32 == 0 && most > 0) atomicMax(places, most);
}

__global__ void lengths_kernel(const Index* columns, Offset count, Counter* lengths) {
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < count;
       i += Offset{gridDim.x} * kBlock) {
    atomicAdd(lengths + columns[i], 1ULL);
  }
}

__global__ void squares_kernel(const Counter* lengths, Index columns, Counter* sum) {
  Counter mine = 0;
  for (Offset c = Offset{blockIdx.x} * kBlock + threadIdx.x; c < columns;
       c += Offset{gridDim.x} * kBlock) {
    mine += lengths[c] * lengths[c];
  }
  if (mine > 0) atomicAdd(sum, mine);
}

}  // namespace

GpuRows upload(const CsrView& rows, cudaStream_t stream) {
  GpuRows gpu{rows.rows, rows.cols, DeviceArray<Offset>(Offset{rows.rows} + 1),
              DeviceArray<Index>(rows.nnz()), DeviceArray<float>(rows.nnz())};
  copy_to_device(gpu.offsets.data(), rows.offsets, gpu.offsets.size(), stream);
  copy_to_device(gpu.columns.data(), rows.columns, rows.nnz(), stream);
  copy_to_device(gpu.weights.data(), rows.values, rows.nnz(), stream);
  return gpu;
}

TilePlan plan_tiles(Index rows, int sums, int number_bytes, int shared) {
  TilePlan plan{.sums = sums, .number_bytes = number_bytes};
  const int numbers = (shared - kSharedKeys * 8) / kTileWarps / number_bytes;
  const Index most = std::max(1, (numbers - 1) / sums);
  const Index a_round = most * kTileWarps;
  plan.rounds = static_cast<int>(std::max<Index>(1, (rows - 1) / a_round + 1));
  plan.tiles = plan.rounds * kTileWarps;
  plan.slots = (rows - 1) / plan.tiles + 1;
  plan.pitch = (sums * plan.slots) | 1;
  return plan;
}

SegmentTable make_segments(const GpuRows& rows, const DeviceArray<Index>& rank_of,
                           const TilePlan& plan, cudaStream_t stream) {
  const Offset segments = Offset{plan.tiles} * rows.cols;
  SegmentTable table{plan, DeviceArray<Offset>(segments + 1),
                     DeviceArray<SlotEntry>(rows.columns.size())};
  fill_zero(table.starts.data(), segments + 1, stream);
  const Dealing deal{rows.offsets.data(), rows.columns.data(), rows.weights.data(), rank_of.data(),
                     rows.rows,           rows.cols,           plan.tiles};
  auto* const cursors = reinterpret_cast<Counter*>(table.starts.data()) + 1;
  const int blocks = blocks_for(Offset{rows.rows} * 32);
  count_kernel<<<blocks, kBlock, 0, stream>>>(deal, cursors);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  std::size_t bytes = 0;
  LIKEWISE_CUDA_CHECK(
      cub::DeviceScan::ExclusiveSum(nullptr, bytes, cursors, cursors, segments, stream));
  DeviceArray<std::byte> scratch(static_cast<Offset>(bytes));
  LIKEWISE_CUDA_CHECK(
      cub::DeviceScan::ExclusiveSum(scratch.data(), bytes, cursors, cursors, segments, stream));
  scatter_kernel<<<blocks, kBlock, 0, stream>>>(deal, cursors, table.entries.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));  // `scratch` goes
  return table;
}

double common_entries(const GpuRows& rows, cudaStream_t stream) {
  DeviceArray<Counter> lengths(Offset{rows.cols} + 1);  // and their squares' sum
  fill_zero(lengths.data(), lengths.size(), stream);
  Counter* const sum = lengths.data() + rows.cols;
  lengths_kernel<<<std::min(blocks_for(rows.columns.size()), 2048), kBlock, 0, stream>>>(
      rows.columns.data(), rows.columns.size(), lengths.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  squares_kernel<<<std::min(blocks_for(rows.cols), 2048), kBlock, 0, stream>>>(lengths.data(),
                                                                               rows.cols, sum);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  Counter result = 0;
  copy_to_host(&result, sum, 1, stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return static_cast<double>(result);
}

int binary_places(const DeviceArray<float>& weights, cudaStream_t stream) {
  DeviceArray<int> places(1);
  fill_zero(places.data(), 1, stream);
  places_kernel<<<std::min(blocks_for(weights.size()), 2048), kBlock, 0, stream>>>(
      weights.data(), weights.size(), places.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  int result = 0;
  copy_to_host(&result, places.data(), 1, stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return result;
}

}  // namespace likewise::cuda
