// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "backends/cuda/linalg/column_order.h"
#include "backends/cuda/spectral/normalised_rows.h"

namespace likewise::cuda {
namespace {

constexpr int kEntryThreads = 256;

[[nodiscard]] unsigned blocks_for(Offset threads) {
  return static_cast<unsigned>(
      std::clamp<Offset>((threads + kEntryThreads - 1) / kEntryThreads, 1, 1 << 16));
}

/// values[e] = x_e / sqrt(n_u n_i)
__global__ void __launch_bounds__(kEntryThreads)
    normalise(const Offset* offsets, const Offset* starts, const Index* users, const Index* columns,
              Offset entries, float* values) {
  const Offset step = Offset{gridDim.x} * kEntryThreads;
  for (Offset e = Offset{blockIdx.x} * kEntryThreads + threadIdx.x; e < entries; e += step) {
    const Index user = users[e];
    const Index item = columns[e];
    const auto of_user = static_cast<double>(offsets[user + 1] - offsets[user]);
    const auto of_item = static_cast<double>(starts[item + 1] - starts[item]);
    values[e] = static_cast<float>(double{values[e]} / sqrt(of_user * of_item));
  }
}

/// Entries in another order.
__global__ void __launch_bounds__(kEntryThreads)
    take_entries(const Offset* places, const Index* users, const float* values, Offset entries,
                 Index* users_taken, float* values_taken) {
  const Offset step = Offset{gridDim.x} * kEntryThreads;
  for (Offset at = Offset{blockIdx.x} * kEntryThreads + threadIdx.x; at < entries; at += step) {
    const Offset e = places[at];
    users_taken[at] = users[e];
    values_taken[at] = values[e];
  }
}

}  // namespace

NormalisedRows::NormalisedRows(const CsrView& by_user, cudaStream_t stream)
    : offsets_(Offset{by_user.rows} + 1),
      columns_(by_user.nnz()),
      values_(by_user.nnz()),
      users_of_items_(by_user.nnz()),
      values_of_items_(by_user.nnz()) {
  const Offset entries = by_user.nnz();
  copy_to_device(offsets_.data(), by_user.offsets, offsets_.size(), stream);
  copy_to_device(columns_.data(), by_user.columns, entries, stream);
  copy_to_device(values_.data(), by_user.values, entries, stream);
  ColumnOrder order = order_by_column(
      {offsets_.data(), columns_.data(), by_user.rows, by_user.cols, entries}, stream);
  starts_ = std::move(order.starts);
  normalise<<<blocks_for(entries), kEntryThreads, 0, stream>>>(
      offsets_.data(), starts_.data(), order.rows.data(), columns_.data(), entries, values_.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  take_entries<<<blocks_for(entries), kEntryThreads, 0, stream>>>(
      order.entries.data(), order.rows.data(), values_.data(), entries, users_of_items_.data(),
      values_of_items_.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));  // the order goes
}

Offset NormalisedRows::bytes(Index users, Index items, Offset entries) {
  constexpr Offset kEntry = sizeof(Index) + sizeof(float);
  return 2 * entries * kEntry + ColumnOrder::bytes(items, entries) +
         (Offset{users} + 1) * Offset{sizeof(Offset)};
}

SparseRows NormalisedRows::by_user() const {
  return {offsets_.data(), columns_.data(), values_.data(), 0, users(), nullptr};
}

SparseRows NormalisedRows::by_item() const {
  return {starts_.data(), users_of_items_.data(), values_of_items_.data(), 0, items(), nullptr};
}

}  // namespace likewise::cuda
