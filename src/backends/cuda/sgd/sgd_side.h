// SPDX-License-Identifier: Apache-2.0
/// One side of a training by SGD: its tables on the GPU, in the order of the grid and in units of
/// the values' spread.
#pragma once

#include <span>

#include "backends/cuda/device/staging.h"
#include "backends/cuda/host/sgd_work.h"
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
  /// `order[at]` is the host's row of row `held.first + at`, for the rows `held`; `scratch` more
  /// follow them.
  SgdSideTable(const SgdSpan& held, Index scratch, int columns, bool halves,
               std::span<const Index> order);

  void upload(const Factors& from, Side side, std::span<const float> shares, const SgdUnits& units,
              Staging& staging, cudaStream_t stream);
  /// Some of the rows held. Waits for it. Biases and sums of squares only where `to` has them.
  void download(const SgdSpan& some, Factors& to, Side side, const SgdUnits& units,
                Staging& staging, cudaStream_t stream);

  /// From row 0 on, wherever those held begin.
  [[nodiscard]] SgdTable table();
  [[nodiscard]] Index rows() const { return held_.end - held_.first; }
  /// Bytes of a row of factors.
  [[nodiscard]] Offset row_bytes() const { return Offset{columns_} * (half_ ? 2 : 4); }

 private:
  template <class T>
  void upload_rows(const Matrix& from, float unit, Staging& staging, cudaStream_t stream);
  template <class T>
  void download_rows(const SgdSpan& some, Matrix& to, float unit, Staging& staging,
                     cudaStream_t stream);

  SgdSpan held_;
  int columns_;
  bool half_;
  std::span<const Index> order_;
  DeviceArray<unsigned char> rows_;
  DeviceArray<SgdRowNumbers> numbers_;
};

}  // namespace likewise::cuda
