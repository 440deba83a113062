// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/tables/als_matrix.h"

namespace likewise::cuda {
namespace {

constexpr int kMatrixBlock = 256;

[[nodiscard]] int matrix_blocks(Offset threads) {
  return static_cast<int>(std::min<Offset>((threads + kMatrixBlock - 1) / kMatrixBlock, 1 << 20));
}

/// What the transpose sorts, of entries [first, end) in rows from `first_row` to `end_row`: every
/// entry's column, and the entry with its row instead; a warp per row.
__global__ void turn_entries(const Offset* offsets, Index first_row, Index end_row, Offset first,
                             Offset end, const RowEntry* entries, Index* columns,
                             RowEntry* turned) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Offset step = Offset{gridDim.x} * (kMatrixBlock / 32);
  for (Offset row = first_row + Offset{blockIdx.x} * (kMatrixBlock / 32) + threadIdx.x / 32;
       row < end_row; row += step) {
    const Offset row_end = min(offsets[row + 1], end);
    for (Offset i = max(offsets[row], first) + lane; i < row_end; i += 32) {
      const RowEntry entry = entries[i];
      columns[i - first] = entry.column;
      turned[i - first] = {static_cast<Index>(row), entry.value};
    }
  }
}

__global__ void count_columns(const RowEntry* entries, Offset count, unsigned long long* counts) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset i = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; i < count; i += step) {
    atomicAdd(counts + entries[i].column, 1ULL);
  }
}

/// offsets[c] = the first of the sorted columns that is not below c.
__global__ void find_offsets(const Index* columns, Offset count, Index cols, Offset* offsets) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset c = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; c <= cols; c += step) {
    Offset low = 0;
    Offset high = count;
    while (low < high) {
      const Offset middle = low + (high - low) / 2;
      if (columns[middle] < c) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets[c] = low;
  }
}

/// Sorted entries behind those of their columns that are there already.
__global__ void append_columns(const Index* columns, const RowEntry* sorted, Offset count,
                               const Offset* starts, const Offset* next, RowEntry* entries) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset i = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; i < count; i += step) {
    const Index c = columns[i];
    entries[next[c] + i - starts[c]] = sorted[i];
  }
}

__global__ void advance_columns(Index cols, const Offset* starts, Offset* next) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset c = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; c < cols; c += step) {
    next[c] += starts[c + 1] - starts[c];
  }
}

__global__ void weigh(RowEntry* entries, Offset count, CellRule<double> rule) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset i = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; i < count; i += step) {
    const double r = entries[i].value;
    double size = observed_weight(rule, fabs(r));
    // A like stays one, however small its weight.
    if (r > 0.0) size = fmax(size, static_cast<double>(FLT_MIN));
    entries[i].value = static_cast<float>(r < 0.0 ? -size : size);
  }
}

/// largest[row] becomes the largest |value| of the task's row if it is larger; a warp per task.
/// Numbers that are not negative compare as their bits do.
__global__ void raise_largest_kernel(const RowTask* tasks, int count, const RowEntry* entries,
                                     float* largest) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Offset step = Offset{gridDim.x} * (kMatrixBlock / 32);
  for (Offset t = Offset{blockIdx.x} * (kMatrixBlock / 32) + threadIdx.x / 32; t < count;
       t += step) {
    const RowTask task = tasks[t];
    float most = 0.0F;
    for (Offset i = task.begin + lane; i < task.begin + task.count; i += 32) {
      most = fmaxf(most, fabsf(entries[i].value));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, distance));
    }
    if (lane == 0) atomicMax(reinterpret_cast<int*>(largest) + task.row, __float_as_int(most));
  }
}

__global__ void round_largest_kernel(float* largest, Index rows) {
  const Offset step = Offset{gridDim.x} * kMatrixBlock;
  for (Offset r = Offset{blockIdx.x} * kMatrixBlock + threadIdx.x; r < rows; r += step) {
    const float most = largest[r];
    int exponent = 0;
    const float fraction = frexpf(most, &exponent);
    largest[r] = most > 0.0F ? ldexpf(1.0F, fraction > 0.5F ? exponent : exponent - 1) : 1.0F;
  }
}

/// What is sorted at a time.
class ColumnSort {
 public:
  ColumnSort(Offset most, Index cols, cudaStream_t stream)
      : columns_{DeviceArray<Index>(most), DeviceArray<Index>(most)},
        entries_{DeviceArray<RowEntry>(most), DeviceArray<RowEntry>(most)},
        stream_(stream) {
    while (bits_ < 31 && (Offset{1} << bits_) < cols) ++bits_;
    bytes_ = sort(nullptr, most);
    space_ = DeviceArray<unsigned char>(static_cast<Offset>(bytes_));
  }

  [[nodiscard]] Index* columns() { return columns_[0].data(); }
  [[nodiscard]] RowEntry* entries() { return entries_[0].data(); }

  /// Sorts the first `count` by column; what is equal keeps its order.
  void run(Offset count) { (void)sort(space_.data(), count); }
  [[nodiscard]] const Index* sorted_columns() const { return sorted_columns_; }
  [[nodiscard]] const RowEntry* sorted_entries() const { return sorted_entries_; }

 private:
  [[nodiscard]] std::size_t sort(void* space, Offset count) {
    std::size_t bytes = bytes_;
    cub::DoubleBuffer<Index> keys(columns_[0].data(), columns_[1].data());
    cub::DoubleBuffer<RowEntry> values(entries_[0].data(), entries_[1].data());
    LIKEWISE_CUDA_CHECK(
        cub::DeviceRadixSort::SortPairs(space, bytes, keys, values, count, 0, bits_, stream_));
    sorted_columns_ = keys.Current();
    sorted_entries_ = values.Current();
    return bytes;
  }

  DeviceArray<Index> columns_[2];
  DeviceArray<RowEntry> entries_[2];
  DeviceArray<unsigned char> space_;
  std::size_t bytes_ = 0;
  int bits_ = 1;
  const Index* sorted_columns_ = nullptr;
  const RowEntry* sorted_entries_ = nullptr;
  cudaStream_t stream_;
};

/// offsets[c] = entries in the columns before c.
void find_column_offsets(const DeviceRows& matrix, DeviceArray<Offset>& offsets,
                         cudaStream_t stream) {
  DeviceArray<Offset> counts(offsets.size());
  fill_zero(counts.data(), counts.size(), stream);
  if (matrix.nnz > 0) {
    count_columns<<<matrix_blocks(matrix.nnz), kMatrixBlock, 0, stream>>>(
        matrix.entries.data(), matrix.nnz, reinterpret_cast<unsigned long long*>(counts.data()));
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
  std::size_t bytes = 0;
  const auto scan = [&](void* space) {
    LIKEWISE_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(space, bytes, counts.data(), offsets.data(),
                                                      offsets.size(), stream));
  };
  scan(nullptr);
  DeviceArray<unsigned char> space(static_cast<Offset>(bytes));
  scan(space.data());
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

}  // namespace

DeviceRows transpose_rows(const DeviceRows& matrix, std::span<const Offset> offsets, Offset at_once,
                          cudaStream_t stream) {
  DeviceRows by_column{matrix.cols,
                       matrix.rows,
                       matrix.nnz,
                       DeviceArray<Offset>(Offset{matrix.cols} + 1),
                       DeviceArray<RowEntry>(matrix.nnz),
                       {}};
  find_column_offsets(matrix, by_column.offsets, stream);
  if (matrix.nnz == 0) return by_column;
  ColumnSort sort(at_once, matrix.cols, stream);
  DeviceArray<Offset> starts(Offset{matrix.cols} + 1);
  DeviceArray<Offset> next(matrix.cols);
  LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(next.data(), by_column.offsets.data(), next.bytes(),
                                      cudaMemcpyDeviceToDevice, stream));
  for (Offset first = 0; first < matrix.nnz; first += at_once) {
    const Offset end = std::min(first + at_once, matrix.nnz);
    const Offset count = end - first;
    const auto row_of = [&](Offset entry) {
      return static_cast<Index>(std::upper_bound(offsets.begin(), offsets.end(), entry) -
                                offsets.begin() - 1);
    };
    const Index first_row = row_of(first);
    const Index end_row = row_of(end - 1) + 1;
    turn_entries<<<matrix_blocks(Offset{end_row - first_row} * 32), kMatrixBlock, 0, stream>>>(
        matrix.offsets.data(), first_row, end_row, first, end, matrix.entries.data(),
        sort.columns(), sort.entries());
    sort.run(count);
    find_offsets<<<matrix_blocks(Offset{matrix.cols} + 1), kMatrixBlock, 0, stream>>>(
        sort.sorted_columns(), count, matrix.cols, starts.data());
    append_columns<<<matrix_blocks(count), kMatrixBlock, 0, stream>>>(
        sort.sorted_columns(), sort.sorted_entries(), count, starts.data(), next.data(),
        by_column.entries.data());
    advance_columns<<<matrix_blocks(matrix.cols), kMatrixBlock, 0, stream>>>(
        matrix.cols, starts.data(), next.data());
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return by_column;
}

void weigh_entries(RowEntry* entries, Offset count, const AlsParams& params, cudaStream_t stream) {
  if (params.feedback == Feedback::kExplicit || count == 0) return;
  weigh<<<matrix_blocks(count), kMatrixBlock, 0, stream>>>(entries, count, cell_rule(params));
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void raise_largest(const RowTask* tasks, int count, const RowEntry* entries, float* largest,
                   cudaStream_t stream) {
  if (count == 0) return;
  raise_largest_kernel<<<matrix_blocks(Offset{count} * 32), kMatrixBlock, 0, stream>>>(
      tasks, count, entries, largest);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void round_largest(float* largest, Index rows, cudaStream_t stream) {
  if (rows == 0) return;
  round_largest_kernel<<<matrix_blocks(rows), kMatrixBlock, 0, stream>>>(largest, rows);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
