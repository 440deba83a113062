// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cub/device/device_radix_sort.cuh>

#include "backends/cuda/linalg/column_order.h"

namespace likewise::cuda {
namespace {

constexpr int kOrderThreads = 256;

[[nodiscard]] unsigned blocks_for(Offset threads) {
  return static_cast<unsigned>(
      std::clamp<Offset>((threads + kOrderThreads - 1) / kOrderThreads, 1, 1 << 16));
}

/// rows[e] = the row of entry e, places[e] = e; a warp per row.
__global__ void __launch_bounds__(kOrderThreads)
    number_entries(MatrixByRow matrix, Index* rows, Offset* places) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Offset step = Offset{gridDim.x} * (kOrderThreads / 32);
  for (Offset row = (Offset{blockIdx.x} * kOrderThreads + threadIdx.x) / 32; row < matrix.rows;
       row += step) {
    for (Offset e = matrix.offsets[row] + lane; e < matrix.offsets[row + 1]; e += 32) {
      rows[e] = static_cast<Index>(row);
      places[e] = e;
    }
  }
}

/// starts[i] = the first of the sorted columns that is not below i.
__global__ void __launch_bounds__(kOrderThreads)
    find_starts(const Index* columns, Offset count, Index cols, Offset* starts) {
  const Offset step = Offset{gridDim.x} * kOrderThreads;
  for (Offset i = Offset{blockIdx.x} * kOrderThreads + threadIdx.x; i <= cols; i += step) {
    Offset low = 0;
    Offset high = count;
    while (low < high) {
      const Offset middle = low + (high - low) / 2;
      if (columns[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[i] = low;
  }
}

}  // namespace

Offset ColumnOrder::bytes(Index cols, Offset entries) {
  constexpr Offset kEntry = sizeof(Index) + sizeof(Offset);
  constexpr Offset kSorted = 2 * kEntry;  // and again while it is sorted
  return entries * (kEntry + kSorted) + (Offset{cols} + 1) * Offset{sizeof(Offset)} +
         (Offset{1} << 20);
}

ColumnOrder order_by_column(const MatrixByRow& matrix, cudaStream_t stream) {
  const Offset count = matrix.entries;
  ColumnOrder order{DeviceArray<Index>(count), DeviceArray<Offset>(count),
                    DeviceArray<Offset>(Offset{matrix.cols} + 1)};
  DeviceArray<Offset> places(count);
  DeviceArray<Index> sorted(count);
  number_entries<<<blocks_for(Offset{matrix.rows} * 32), kOrderThreads, 0, stream>>>(
      matrix, order.rows.data(), places.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    LIKEWISE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
        scratch, bytes, matrix.columns, sorted.data(), places.data(), order.entries.data(), count,
        0, static_cast<int>(sizeof(Index)) * 8, stream));
  };
  sort(nullptr);
  DeviceArray<std::byte> scratch(static_cast<Offset>(bytes));
  sort(scratch.data());
  find_starts<<<blocks_for(Offset{matrix.cols} + 1), kOrderThreads, 0, stream>>>(
      sorted.data(), count, matrix.cols, order.starts.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));  // what was for sorting goes
  return order;
}

}  // namespace likewise::cuda
