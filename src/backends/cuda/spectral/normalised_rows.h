// SPDX-License-Identifier: Apache-2.0
/// A = D_U^(-1/2) X D_I^(-1/2) on a GPU, by user and by item.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "backends/cuda/spectral/sparse_product.h"
#include "likewise/csr.h"

namespace likewise::cuda {

class NormalisedRows {
 public:
  /// Uploads. The matrix has entries.
  NormalisedRows(const CsrView& by_user, cudaStream_t stream);
  /// What it takes of the GPU, and while it is made.
  [[nodiscard]] static Offset bytes(Index users, Index items, Offset entries);

  [[nodiscard]] SparseRows by_user() const;
  [[nodiscard]] SparseRows by_item() const;
  [[nodiscard]] Index users() const { return static_cast<Index>(offsets_.size() - 1); }
  [[nodiscard]] Index items() const { return static_cast<Index>(starts_.size() - 1); }

 private:
  DeviceArray<Offset> offsets_;
  DeviceArray<Index> columns_;
  DeviceArray<float> values_;
  DeviceArray<Offset> starts_;
  DeviceArray<Index> users_of_items_;
  DeviceArray<float> values_of_items_;
};

}  // namespace likewise::cuda
