// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/neighbour_table.h"

#include <algorithm>

#include "backends/cuda/device/staging.h"
#include "core/parallel.h"

namespace likewise::cuda {
namespace {

/// Pinning the buffers takes as long as the copy of some megabytes.
constexpr std::size_t kWorthPinning = std::size_t{24} << 20;
constexpr Offset kBufferBytes = Offset{4} << 20;

template <class T>
void copy_staged(T* to, const T* from, Offset count, Staging& staging, cudaStream_t stream) {
  constexpr Offset kBlock = Offset{1} << 16;
  const auto fill = [&](T* part, Offset first, Offset n) {
    parallel_blocks(n, kBlock, [&](Offset begin, Offset end, Offset) {
      std::copy(from + first + begin, from + first + end, part + begin);
    });
  };
  staging.upload(to, count, 1, fill, stream);
}

}  // namespace

CardRows upload(const CsrView& rows, cudaStream_t stream) {
  CardRows card{rows.rows, rows.cols, DeviceArray<Offset>(Offset{rows.rows} + 1),
                DeviceArray<Index>(rows.nnz()), DeviceArray<float>(rows.nnz())};
  copy_to_device(card.offsets.data(), rows.offsets, card.offsets.size(), stream);
  if (card.columns.bytes() + card.weights.bytes() < kWorthPinning) {
    copy_to_device(card.columns.data(), rows.columns, rows.nnz(), stream);
    copy_to_device(card.weights.data(), rows.values, rows.nnz(), stream);
    return card;
  }
  Staging staging(kBufferBytes);
  copy_staged(card.columns.data(), rows.columns, rows.nnz(), staging, stream);
  copy_staged(card.weights.data(), rows.values, rows.nnz(), staging, stream);
  return card;
}

}  // namespace likewise::cuda
