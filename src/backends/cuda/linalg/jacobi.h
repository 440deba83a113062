// SPDX-License-Identifier: Apache-2.0
/// Eigenvectors of small symmetric matrices in float64 on the GPU, by one block.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

/// S + lambda is taken to be at least this share of the largest one.
inline constexpr double kLeastShare = 1e-12;

/// Eigenvectors of weight * gram.
class JacobiSolver {
 public:
  /// The GPU has the shared memory for it; never beyond 128.
  [[nodiscard]] static bool fits(int padded);

  JacobiSolver(int width, int padded);

  /// Where the results go. For S, Q of weight * gram = Q S Q^T and D = max(S + lambda, tiny):
  struct Results {
    float* transform;  ///< Q D^-1/2, padded x padded, identity in the padding
    float* back;       ///< its transpose
    float* base;       ///< S / D, 1 for padding
    float* shrink;     ///< 1 / D, 0 for padding
  };
  /// *status (0 before) becomes -1 where the matrix is not finite; the results are then undefined.
  /// Nothing happens where *wanted, on the GPU, is 0; null: always wanted.
  void run(const double* gram, double weight, double lambda, const Results& results, int* status,
           const int* wanted, cudaStream_t stream);

 private:
  int width_;
  int padded_;
  DeviceArray<double> matrix_;
  DeviceArray<double> largest_;  // diagonal entry of the matrix
};

}  // namespace likewise::cuda
