// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <numeric>

#include "algorithms/weights.h"
#include "backends/als_tuning.h"
#include "backends/cuda/als_matrix.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;

[[nodiscard]] int blocks_for(Offset threads) {
  return static_cast<int>(std::min<Offset>((threads + kBlock - 1) / kBlock, 1 << 20));
}

__global__ void pack_entries(const Index* columns, const float* values, Offset count,
                             RowEntry* entries) {
  const Offset step = Offset{gridDim.x} * kBlock;
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < count; i += step) {
    entries[i] = {columns[i], values[i]};
  }
}

/// What the transpose sorts: every entry's column, and the entry with its row instead; a warp per
/// row.
__global__ void turn_entries(const Offset* offsets, Index rows, const RowEntry* entries,
                             Index* columns, RowEntry* turned) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Index step = static_cast<Index>(gridDim.x * (kBlock / 32));
  for (Index row = static_cast<Index>(blockIdx.x * (kBlock / 32) + threadIdx.x / 32); row < rows;
       row += step) {
    for (Offset i = offsets[row] + lane; i < offsets[row + 1]; i += 32) {
      const RowEntry entry = entries[i];
      columns[i] = entry.column;
      turned[i] = {row, entry.value};
    }
  }
}

/// offsets[c] = the first of the sorted columns that is not below c.
__global__ void find_offsets(const Index* columns, Offset count, Index cols, Offset* offsets) {
  const Offset step = Offset{gridDim.x} * kBlock;
  for (Offset c = Offset{blockIdx.x} * kBlock + threadIdx.x; c <= cols; c += step) {
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

struct Weighing {
  bool weighted_missing;
  bool logarithm;
  double alpha;
  double epsilon;
};

__global__ void weigh(RowEntry* entries, Offset count, Weighing how) {
  const Offset step = Offset{gridDim.x} * kBlock;
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < count; i += step) {
    const double r = entries[i].value;
    double size = fabs(r);
    if (how.weighted_missing) {
      size = size > 0.0 ? 1.0 : 0.0;
    } else {
      size = how.alpha * (how.logarithm ? log1p(size / how.epsilon) : size);
    }
    // A like stays one, however small its weight.
    if (r > 0.0) size = fmax(size, static_cast<double>(FLT_MIN));
    entries[i].value = static_cast<float>(r < 0.0 ? -size : size);
  }
}

/// largest[row] = a power of two not below any |value| of the row; 1 where all are 0.
__global__ void find_largest(const Offset* offsets, const RowEntry* entries, Index rows,
                             float* largest) {
  const int lane = threadIdx.x % 32;
  const Index step = static_cast<Index>(gridDim.x * (kBlock / 32));
  for (Index row = static_cast<Index>(blockIdx.x * (kBlock / 32) + threadIdx.x / 32); row < rows;
       row += step) {
    float most = 0.0F;
    for (Offset i = offsets[row] + lane; i < offsets[row + 1]; i += 32) {
      most = fmaxf(most, fabsf(entries[i].value));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, distance));
    }
    if (lane == 0) {
      int exponent = 0;
      const float fraction = frexpf(most, &exponent);
      largest[row] = most > 0.0F ? ldexpf(1.0F, fraction > 0.5F ? exponent : exponent - 1) : 1.0F;
    }
  }
}

/// Pieces of long rows are summed by blocks of their own: no block runs long after all others.
void plan_tasks(RowPlan& plan, const DeviceRows& matrix, std::span<const Offset> offsets,
                const AlsWork& work, const AlsTuning& tuning, cudaStream_t stream) {
  std::vector<RowTask> tasks;
  std::vector<RowTask> short_tasks;
  std::vector<RowTask> ends;
  std::vector<Index> empty;
  const auto rows = static_cast<Index>(offsets.size()) - 1;
  for (Index row = 0; row < rows; ++row) {
    const Offset begin = offsets[static_cast<std::size_t>(row)];
    const Offset count = offsets[static_cast<std::size_t>(row) + 1] - begin;
    if (count == 0) {
      empty.push_back(row);
    } else if (tuning.wide || count <= tuning.piece) {
      (count <= tuning.short_rows ? short_tasks : tasks)
          .push_back({row, static_cast<std::int32_t>(count), begin, -1, 0});
    } else {
      const Offset pieces = (count + tuning.piece - 1) / tuning.piece;
      ends.push_back({row, 0, begin, plan.pieces, static_cast<std::int32_t>(pieces)});
      for (Offset piece = 0; piece < pieces; ++piece) {
        const Offset first = count * piece / pieces;
        const Offset last = count * (piece + 1) / pieces;
        tasks.push_back(
            {row, static_cast<std::int32_t>(last - first), begin + first, plan.pieces++, 0});
      }
    }
  }
  const auto longer = [](const RowTask& a, const RowTask& b) { return a.count > b.count; };
  std::stable_sort(tasks.begin(), tasks.end(), longer);
  std::stable_sort(short_tasks.begin(), short_tasks.end(), longer);
  if (tuning.wide) {
    plan.wide = plan_wide_rows(std::move(tasks), matrix.entries.data(),
                               {work.precision, matrix.cols, tuning.columns, work.exact}, stream);
    tasks.clear();
  }
  plan.sums = tuning.wide ? plan.wide.floats : plan.pieces * piece_floats(tuning.columns);
  plan.constants = tuning.wide ? plan.wide.doubles : plan.pieces;
  for (const RowTask& task : short_tasks) plan.short_counts.push_back(task.count);
  plan.short_tasks = to_device(short_tasks, stream);
  plan.task_count = static_cast<int>(tasks.size());
  plan.end_count = static_cast<int>(ends.size());
  plan.empty_count = static_cast<int>(empty.size());
  plan.tasks = to_device(tasks, stream);
  plan.ends = to_device(ends, stream);
  plan.empty_rows = to_device(empty, stream);
}

void plan_regularization(RowPlan& plan, Index cols, std::span<const Offset> offsets,
                         const AlsParams& params, cudaStream_t stream) {
  const auto rows = static_cast<Index>(offsets.size()) - 1;
  std::vector<float> lambda(static_cast<std::size_t>(rows));
  std::vector<float> shares(static_cast<std::size_t>(rows));
  const double total = static_cast<double>(std::max<Offset>(1, offsets.back()));
  double typical = 0.0;
  double smallest = DBL_MAX;
  for (Index row = 0; row < rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const Offset count = offsets[r + 1] - offsets[r];
    const double value = row_regularization(params, count, cols);
    lambda[r] = static_cast<float>(value);
    shares[r] = static_cast<float>(static_cast<double>(count) / total);
    if (count == 0) continue;
    smallest = std::min(smallest, value);
    typical += params.feedback == Feedback::kExplicit ? value / total
                                                      : value * static_cast<double>(count) / total;
    plan.smallest_count = plan.smallest_count == 0 ? count : std::min(plan.smallest_count, count);
  }
  plan.smallest_regularization = static_cast<float>(smallest == DBL_MAX ? 0.0 : smallest);
  plan.typical_regularization = static_cast<float>(typical);
  plan.regularization = to_device(lambda, stream);
  if (params.feedback == Feedback::kExplicit) plan.shares = to_device(shares, stream);
}

}  // namespace

DeviceRows upload_rows(const CsrView& matrix, cudaStream_t stream) {
  DeviceRows rows{matrix.rows, matrix.cols, matrix.nnz(),
                  DeviceArray<Offset>(Offset{matrix.rows} + 1),
                  DeviceArray<RowEntry>(matrix.nnz())};
  copy_to_device(rows.offsets.data(), matrix.offsets, rows.offsets.size(), stream);
  if (rows.nnz == 0) return rows;
  DeviceArray<Index> columns(rows.nnz);
  DeviceArray<float> values(rows.nnz);
  copy_to_device(columns.data(), matrix.columns, rows.nnz, stream);
  copy_to_device(values.data(), matrix.values, rows.nnz, stream);
  pack_entries<<<blocks_for(rows.nnz), kBlock, 0, stream>>>(columns.data(), values.data(), rows.nnz,
                                                            rows.entries.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return rows;
}

DeviceRows transpose_rows(const DeviceRows& matrix, std::vector<Offset>& offsets,
                          cudaStream_t stream) {
  DeviceRows by_column{matrix.cols, matrix.rows, matrix.nnz,
                       DeviceArray<Offset>(Offset{matrix.cols} + 1),
                       DeviceArray<RowEntry>(matrix.nnz)};
  DeviceArray<RowEntry> turned(matrix.nnz);
  DeviceArray<Index> columns(matrix.nnz);
  DeviceArray<Index> sorted(matrix.nnz);
  if (matrix.nnz > 0) {
    turn_entries<<<blocks_for(Offset{matrix.rows} * 32), kBlock, 0, stream>>>(
        matrix.offsets.data(), matrix.rows, matrix.entries.data(), columns.data(), turned.data());
    LIKEWISE_CUDA_CHECK_LAUNCH();
    int bits = 1;
    while (bits < 31 && (Offset{1} << bits) < matrix.cols) ++bits;
    std::size_t bytes = 0;
    const auto sort = [&](void* space) {
      LIKEWISE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
          space, bytes, columns.data(), sorted.data(), turned.data(), by_column.entries.data(),
          matrix.nnz, 0, bits, stream));
    };
    sort(nullptr);
    DeviceArray<unsigned char> space(static_cast<Offset>(bytes));
    sort(space.data());
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  find_offsets<<<blocks_for(Offset{matrix.cols} + 1), kBlock, 0, stream>>>(
      sorted.data(), matrix.nnz, matrix.cols, by_column.offsets.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  offsets.resize(static_cast<std::size_t>(matrix.cols) + 1);
  copy_to_host(offsets.data(), by_column.offsets.data(), by_column.offsets.size(), stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return by_column;
}

void weigh_values(DeviceRows& matrix, const AlsParams& params, cudaStream_t stream) {
  if (params.feedback == Feedback::kExplicit || matrix.nnz == 0) return;
  weigh<<<blocks_for(matrix.nnz), kBlock, 0, stream>>>(
      matrix.entries.data(), matrix.nnz,
      {params.unobserved_weight.has_value(), params.confidence == Confidence::kLog, params.alpha,
       params.epsilon});
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

RowPlan plan_rows(const DeviceRows& matrix, std::span<const Offset> offsets,
                  const AlsParams& params, const AlsTuning& tuning, cudaStream_t stream) {
  RowPlan plan;
  plan_tasks(plan, matrix, offsets, als_work(params), tuning, stream);
  plan_regularization(plan, matrix.cols, offsets, params, stream);
  if (params.feedback == Feedback::kImplicit && matrix.rows > 0) {
    plan.largest = DeviceArray<float>(matrix.rows);
    find_largest<<<blocks_for(Offset{matrix.rows} * 32), kBlock, 0, stream>>>(
        matrix.offsets.data(), matrix.entries.data(), matrix.rows, plan.largest.data());
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
  return plan;
}

void solve_rows(Precision precision, const RowProblem& problem, RowPlan& plan,
                const AlsTuning& tuning, cudaStream_t stream) {
  solve_rows(precision, problem, plan.tasks.data(), plan.task_count, stream);
  solve_short_rows(problem, plan.short_tasks.data(), plan.short_counts, tuning.one_warp, stream);
  solve_rows(precision, problem, plan.ends.data(), plan.end_count, stream);
  solve_wide_rows(precision, problem, plan.wide, stream);
}

}  // namespace likewise::cuda
