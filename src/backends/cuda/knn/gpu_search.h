// SPDX-License-Identifier: Apache-2.0
/// A search whose similarities may stay on the GPU.
#pragma once

#include <memory>
#include <span>

#include "backends/cuda/device/memory.h"
#include "backends/cuda/host/plugin.h"
#include "backends/jobs/knn.h"

namespace likewise::cuda {

class GpuSearch : public KnnSearch {
 public:
  /// As similarities(), to some rows of the problem: `out`, on the GPU, is rows.size() x all.
  /// Waits for it.
  virtual void similarities_on_gpu(std::span<const Index> rows, float* out,
                                   const Stream& stream) const = 0;
};

/// On the current GPU, which `gpu` describes. `problem` must outlive it.
[[nodiscard]] std::unique_ptr<GpuSearch> make_gpu_search(int device, const GpuInfo& gpu,
                                                         const SimilarityProblem& problem);

/// Bytes that similarities_on_gpu() takes of the current GPU beside what belongs to the rows asked
/// for, at most.
[[nodiscard]] Offset gpu_search_bytes(const SimilarityProblem& problem);

}  // namespace likewise::cuda
