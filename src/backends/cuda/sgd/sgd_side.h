// SPDX-License-Identifier: Apache-2.0
/// One side of a training by SGD: its tables on the GPU, in the order of the grid and in units of
/// the values' spread.
#pragma once

#include <span>
#include <vector>

#include "algorithms/sgd/grid.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/sgd/sgd_rows.h"
#include "likewise/factors.h"

namespace likewise::cuda {

/// What the numbers of factors and biases are divided by on the GPU.
struct SgdUnits {
  float factor = 1.0F;
  float bias = 1.0F;  ///< its square
};

/// Rows of a side on the GPU, in an order of their own.
class SgdSideTable {
 public:
  /// `lines` rows, of which those beyond the side's are scratch; `order[at]` is the host's row.
  SgdSideTable(Index lines, int columns, bool halves, std::span<const Index> order);

  void upload(const Factors& from, Side side, std::span<const float> shares, const SgdUnits& units,
              Staging& staging, cudaStream_t stream);
  /// Waits for it. Biases and sums of squares only where `to` has them.
  void download(Factors& to, Side side, const SgdUnits& units, Staging& staging,
                cudaStream_t stream);

  [[nodiscard]] SgdTable table() { return {rows_.data(), numbers_.data()}; }
  [[nodiscard]] Index rows() const { return static_cast<Index>(order_.size()); }

 private:
  template <class T>
  void upload_rows(const Matrix& from, float unit, Staging& staging, cudaStream_t stream);
  template <class T>
  void download_rows(Matrix& to, float unit, Staging& staging, cudaStream_t stream);

  int columns_;
  bool half_;
  std::span<const Index> order_;
  DeviceArray<unsigned char> rows_;
  DeviceArray<SgdRowNumbers> numbers_;
};

}  // namespace likewise::cuda
