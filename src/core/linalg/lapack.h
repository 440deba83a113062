// SPDX-License-Identifier: Apache-2.0
/// The one routine of LAPACK that is needed, from OpenBLAS, which is loaded at the first call: what
/// computes no eigenvectors needs neither its memory nor its time to start.
#pragma once

#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Eigenvalues (rising) and eigenvectors of the symmetric d x d matrix `a`, which becomes the
/// eigenvectors, one after the other. Runs on the calling thread; one call at a time, others wait.
/// When it is loaded OpenBLAS makes threads unless its environment variable OPENBLAS_NUM_THREADS is
/// 1: front doors set it where they can.
///
/// Throws Error(kNumerical) when the values do not converge, Error(kOutOfMemory) where OpenBLAS
/// cannot allocate its buffer, and Error(kIo) where it cannot be loaded.
[[nodiscard]] std::vector<double> symmetric_eigen(std::vector<double>& a, Index d);

}  // namespace likewise
