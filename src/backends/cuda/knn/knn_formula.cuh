// SPDX-License-Identifier: Apache-2.0
/// The rows of a search as the formulas (algorithms/pair_formula.h) ask for them, on a GPU.
#pragma once

#include "algorithms/knn/pair_formula.h"
#include "backends/cuda/knn/knn_search.h"

namespace likewise::cuda {

/// The row of that rank. A number is read when the formula asks for it.
struct GpuRow {
  const GpuRowStats& stats;
  Index rank;
  [[nodiscard]] __device__ __forceinline__ double norm() const { return stats.norm[rank]; }
  [[nodiscard]] __device__ __forceinline__ double count() const { return stats.count[rank]; }
  [[nodiscard]] __device__ __forceinline__ double damped_count() const {
    return stats.damped_count[rank];
  }
  [[nodiscard]] __device__ __forceinline__ double noise() const { return stats.noise[rank]; }
};

}  // namespace likewise::cuda
