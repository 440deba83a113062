// SPDX-License-Identifier: Apache-2.0
/// Rows of lockstep that have interactions with a good part of all columns: a product takes all
/// factor rows, on tensor cores, and costs less than one that gathers those of the interactions.
#pragma once

#include <vector>

#include "backends/cuda/als/rows/als_rows.h"
#include "core/host_device.h"

namespace likewise::cuda {

struct LockstepBatch;

/// Rows of a block of the kernel.
inline constexpr int kDenseRows = 64;

/// Of tables that it multiplies with.
inline constexpr int kMostDenseColumns = 512;

/// The first rows of a batch, the longest, whose products are dense, and those of them that a step
/// multiplies. Step -1 measures the start, of all.
struct DenseProducts {
  int rows = 0;
  Index fixed_rows = 0;
  Offset places = 0;  ///< parts of products that there is memory for
  // Of a step:
  int count = 0;        ///< rows; none where too few would fill a block: they are gathered
  int part_count = 0;   ///< parts of the factor rows, each summed by a block
  Index part_rows = 0;  ///< factor rows of a part
  // On the GPU:
  int* list = nullptr;       ///< which rows; all at the start
  float* parts = nullptr;    ///< [place in the list][part][padded] of the products
  double* totals = nullptr;  ///< [place in the list][part][2]

  [[nodiscard]] LIKEWISE_HOST_DEVICE int blocks() const {
    return (count + kDenseRows - 1) / kDenseRows;
  }
  /// Whether a row that goes on is among them. Last steps take a part of the interactions.
  [[nodiscard]] LIKEWISE_HOST_DEVICE bool has(int which, int step, bool last) const {
    return which < rows && count > 0 && (step < 0 || !last);
  }
};

/// Whether there is a kernel for the current GPU: one with sm_90a.
[[nodiscard]] bool has_dense_rows(Precision precision, int padded);

/// How many of these rows, the longest first, to take so, where a row of `least` interactions costs
/// as much either way, and their products may have so many bytes.
[[nodiscard]] DenseProducts plan_dense_rows(const std::vector<RowTask>& rows, Index fixed_rows,
                                            Offset least, int padded, Offset most_bytes);

/// Most bytes that the products of any plan take, where it has so many interactions.
[[nodiscard]] Offset most_dense_bytes(Offset interactions);

/// Floats and doubles of the products.
[[nodiscard]] constexpr Offset dense_floats(const DenseProducts& dense, int padded) {
  return dense.places * padded;
}
[[nodiscard]] constexpr Offset dense_doubles(const DenseProducts& dense) {
  return 2 * dense.places;
}

/// Sets what a step has of so many rows.
void set_count(DenseProducts& dense, int count);

/// The products of a step's rows. Rounds what is multiplied: the starts in `solutions`, or the
/// directions.
void multiply_dense_rows(Precision precision, const RowProblem& problem, const LockstepBatch& batch,
                         int step, cudaStream_t stream);

}  // namespace likewise::cuda
