// SPDX-License-Identifier: Apache-2.0
/// The system of EASE on a GPU, from the users' entries (math.md, "Weights by ridge regression").
#pragma once

#include <cuda_runtime_api.h>

#include "algorithms/ease/ease_scales.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/linalg/column_order.h"
#include "likewise/csr.h"

namespace likewise::cuda {

/// Entries by user, and where those of each item are among them.
class EaseEntries {
 public:
  /// Uploads. The matrix has entries.
  EaseEntries(const CsrView& by_user, const EaseScales& scales, cudaStream_t stream);
  /// What it takes of the GPU, and while it is made.
  [[nodiscard]] static Offset bytes(Index users, Index items, Offset entries);

  /// d_i = (S + L)_ii^(-1/2) of all items, 0 where that is 0.
  [[nodiscard]] const double* shrinks() const { return shrinks_.data(); }

  /// a (order x order, row-major; order >= items): above the diagonal (S + L)_ij d_i d_j, which are
  /// cosines, and on it 1, or 0 where d_i is 0; that of the identity beyond the items. Below it 0.
  /// Sums are of 64-bit integers: the same in any order.
  void fill(float* a, Index order, cudaStream_t stream) const;

 private:
  void weigh_items(const EaseScales& scales, cudaStream_t stream);

  Index items_;
  DeviceArray<Offset> offsets_;  ///< of users
  DeviceArray<Index> columns_;   ///< items of entries
  DeviceArray<float> values_;    ///< of entries
  ColumnOrder by_item_;
  DeviceArray<double> of_user_;  ///< d_u^-b
  DeviceArray<double> of_item_;  ///< n_i^(-1/2), then times d_i
  DeviceArray<double> shrinks_;
};

}  // namespace likewise::cuda
