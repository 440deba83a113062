// SPDX-License-Identifier: Apache-2.0
/// Eigenvectors of large symmetric matrices by cuSOLVER, which is found when it is needed.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// Why symmetric_eigen_on_gpu() cannot be used, and what to do; empty where it can.
[[nodiscard]] std::string cusolver_problem();

/// What it takes of the GPU at most.
[[nodiscard]] Offset eigen_bytes(Index order);

/// As symmetric_eigen() (core/linalg/lapack.h), on the current GPU: eigenvalues, rising, of `a`
/// (order x order), which becomes its eigenvectors, one after the other. Errors: kNumerical where
/// they do not converge, kDevice.
[[nodiscard]] std::vector<double> symmetric_eigen_on_gpu(std::vector<double>& a, Index order,
                                                         const Stream& stream);

}  // namespace likewise::cuda
