// SPDX-License-Identifier: Apache-2.0
/// Cosines of all rows where most cells are filled: on the tensor cores, in float16 with float32
/// sums.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/knn/knn_table.h"

namespace likewise::cuda {

/// Missing cells are 0, rows and columns padded with zeros.
struct DenseRows {
  static constexpr int kStep = 128;  ///< what `rows` and `cols` are padded to

  Index rows = 0;              ///< padded
  Index cols = 0;              ///< padded
  DeviceArray<__half> halves;  ///< each row times a power of two
  DeviceArray<float> weights;  ///< unchanged
  DeviceArray<float> inverse;  ///< 1 / norm of a row of `halves`; NaN for one of zeros
};
[[nodiscard]] DenseRows make_dense(const GpuRows& rows, cudaStream_t stream);

/// Those of rows [first, first + count), both multiples of DenseRows::kStep: table.rows each, NaN
/// where one of the two rows is all zeros.
void find_cosines(const DenseRows& table, Index first, Index count, float* cosines,
                  cudaStream_t stream);

/// How far they may be off: both factors are rounded to 11 bits (2^-10 by Cauchy, and 2^-18 for
/// whatever else is rounded), and each of cols / 16 sums on the tensor cores loses up to 2^-21 of
/// what was added up so far. (Sums in parts lose less.)
[[nodiscard]] float cosine_error(const DenseRows& table);

}  // namespace likewise::cuda
