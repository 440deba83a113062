// SPDX-License-Identifier: Apache-2.0
/// S row by row: a block has the sums of one item with a range of others in shared memory. A warp
/// takes a user of the item, its lanes the user's items from there on.
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/ease/ease_gram.h"

namespace likewise::cuda {
namespace {

constexpr int kWeighThreads = 256;
constexpr int kRowThreads = 1024;
using Sum = unsigned long long;
/// Terms of cosines as integers.
constexpr double kUnit = 0x1p61;

struct Entries {
  const Offset* offsets;
  const Index* columns;
  const float* values;
  const Index* users;
  const Offset* starts;
  const Offset* by_item;
  const double* of_user;
  const double* of_item;
};

/// d_i, and n_i^(-1/2) d_i in the place of n_i^(-1/2); a warp per item.
__global__ void __launch_bounds__(kWeighThreads)
    weigh_kernel(Entries entries, Index items, double diagonal, double regularization,
                 double* of_item, double* shrinks) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Offset item = (Offset{blockIdx.x} * kWeighThreads + threadIdx.x) / 32;
  if (item >= items) return;
  double sum = 0.0;
  for (Offset at = entries.starts[item] + lane; at < entries.starts[item + 1]; at += 32) {
    const Offset e = entries.by_item[at];
    const double value = entries.values[e];
    sum += entries.of_user[entries.users[e]] * value * value;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  }
  if (lane != 0) return;
  const double scale = of_item[item];
  const double damped = diagonal * (sum * (scale * scale)) + regularization;
  const double shrink = damped > 0.0 ? 1.0 / sqrt(damped) : 0.0;
  shrinks[item] = shrink;
  of_item[item] = scale * shrink;
}

/// Items [first, end) in the row of an item.
struct Range {
  Index item;
  Index first;
  Index end;
};

/// The sums of one user of the item.
__device__ __forceinline__ void add_user(const Entries& entries, const Range& range, Offset at,
                                         int lane, Sum* sums) {
  const Offset from = entries.by_item[at];
  const Index user = entries.users[from];
  const Offset end = entries.offsets[user + 1];
  const double weight =
      entries.of_user[user] * double{entries.values[from]} * entries.of_item[range.item];
  for (Offset e = from + lane; e < end; e += 32) {
    const Index j = entries.columns[e];
    if (j >= range.end) return;
    if (j < range.first) continue;
    const double term = weight * (double{entries.values[e]} * entries.of_item[j]);
    atomicAdd(sums + (j - range.first), static_cast<Sum>(__double2ll_rn(term * kUnit)));
  }
}

/// Row blockIdx.x of the system, of its columns the range blockIdx.y of `width` of them.
__global__ void __launch_bounds__(kRowThreads)
    fill_row(Entries entries, const double* shrinks, Index items, Index width, Index order,
             float* a) {
  extern __shared__ Sum sums[];
  const auto item = static_cast<Index>(blockIdx.x);
  const Index begin = static_cast<Index>(blockIdx.y) * width;
  const Range range{item, max(begin, item), min(items, begin + width)};
  const Index count = range.end - range.first;
  if (count <= 0) return;
  for (Index j = static_cast<Index>(threadIdx.x); j < count; j += kRowThreads) sums[j] = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (Offset at = entries.starts[item] + threadIdx.x / 32; at < entries.starts[item + 1];
       at += kRowThreads / 32) {
    add_user(entries, range, at, lane, sums);
  }
  __syncthreads();
  float* const row = a + Offset{item} * order + range.first;
  for (Index j = static_cast<Index>(threadIdx.x); j < count; j += kRowThreads) {
    const double sum = static_cast<double>(static_cast<long long>(sums[j])) / kUnit;
    const bool own = range.first + j == item;
    row[j] = own ? (shrinks[item] > 0.0 ? 1.0F : 0.0F) : static_cast<float>(sum);
  }
}

__global__ void fill_identity(Index first, Index order, float* a) {
  const Index i = first + static_cast<Index>(threadIdx.x);
  if (i < order) a[Offset{i} * order + i] = 1.0F;
}

}  // namespace

EaseEntries::EaseEntries(const CsrView& by_user, const EaseScales& scales, cudaStream_t stream)
    : items_(by_user.cols),
      offsets_(Offset{by_user.rows} + 1),
      columns_(by_user.nnz()),
      values_(by_user.nnz()),
      of_user_(to_device(scales.user, stream)),
      of_item_(to_device(scales.item, stream)),
      shrinks_(by_user.cols) {
  copy_to_device(offsets_.data(), by_user.offsets, offsets_.size(), stream);
  copy_to_device(columns_.data(), by_user.columns, columns_.size(), stream);
  copy_to_device(values_.data(), by_user.values, values_.size(), stream);
  by_item_ = order_by_column(
      {offsets_.data(), columns_.data(), by_user.rows, by_user.cols, by_user.nnz()}, stream);
  weigh_items(scales, stream);
}

Offset EaseEntries::bytes(Index users, Index items, Offset entries) {
  constexpr Offset kEntry = sizeof(Index) + sizeof(float);
  return entries * kEntry + ColumnOrder::bytes(items, entries) + Offset{users} * 16 +
         Offset{items} * 16;
}

void EaseEntries::weigh_items(const EaseScales& scales, cudaStream_t stream) {
  const Entries entries{offsets_.data(),      columns_.data(),        values_.data(),
                        by_item_.rows.data(), by_item_.starts.data(), by_item_.entries.data(),
                        of_user_.data(),      of_item_.data()};
  const auto blocks =
      static_cast<unsigned>((Offset{items_} * 32 + kWeighThreads - 1) / kWeighThreads);
  weigh_kernel<<<blocks, kWeighThreads, 0, stream>>>(
      entries, items_, scales.diagonal, scales.regularization, of_item_.data(), shrinks_.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void EaseEntries::fill(float* a, Index order, cudaStream_t stream) const {
  const Entries entries{offsets_.data(),      columns_.data(),        values_.data(),
                        by_item_.rows.data(), by_item_.starts.data(), by_item_.entries.data(),
                        of_user_.data(),      of_item_.data()};
  fill_zero(a, Offset{order} * order, stream);
  const auto most = static_cast<Index>(largest_shared_memory() / static_cast<int>(sizeof(Sum)));
  const Index ranges = (items_ + most - 1) / most;
  const Index width = (items_ + ranges - 1) / ranges;
  const int bytes = width * static_cast<int>(sizeof(Sum));
  allow_shared_memory(fill_row, bytes);
  fill_row<<<dim3{static_cast<unsigned>(items_), static_cast<unsigned>(ranges)}, kRowThreads,
             static_cast<std::size_t>(bytes), stream>>>(entries, shrinks_.data(), items_, width,
                                                        order, a);
  if (order > items_) fill_identity<<<1, 32, 0, stream>>>(items_, order, a);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
