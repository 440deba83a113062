// SPDX-License-Identifier: Apache-2.0
/// Neighbours where most cells are filled: all products of rows on the tensor cores, in float16
/// with float32 sums, choose candidates; those are computed anew in float64.
///
/// A cosine c is known up to e = 2^-10 (both factors rounded to 11 bits, Cauchy) plus what sums of
/// float32 lose. Whoever is among the k nearest has a computed cosine of at least the k-th largest
/// one less 2 e: all of these are candidates, and so the lists are exact.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/neighbour_search.h"

namespace likewise::cuda {

/// Whether such cosines are all that the formula looks at, and lists are short enough.
[[nodiscard]] bool dense_can(const CardFormula& formula, Index k);

/// Missing cells are 0, rows and columns padded with zeros.
struct DenseRows {
  static constexpr int kStep = 128;  ///< what `rows` and `cols` are padded to

  Index rows = 0;              ///< padded
  Index cols = 0;              ///< padded
  DeviceArray<__half> halves;  ///< each row times a power of two
  DeviceArray<float> weights;  ///< unchanged
  DeviceArray<float> inverse;  ///< 1 / norm of a row of `halves`; 0 for an empty one
};
[[nodiscard]] DenseRows make_dense(const CardRows& rows, cudaStream_t stream);

struct DenseTask {
  const DenseRows* table = nullptr;
  Index rows = 0;
  Index first = 0;           ///< a multiple of DenseRows::kStep
  Index count = 0;           ///< a multiple of DenseRows::kStep too
  float* cosines = nullptr;  ///< count x table->rows
  const Index* rank_of = nullptr;
  CardFormula formula;
  CardFacts facts;
  Index k = 0;
  Index* found = nullptr;      ///< of the rows from the first on; -1: too many candidates
  Candidate* lists = nullptr;  ///< k each
};
/// The lists of rows [first, first + count).
void search_dense(const DenseTask& task, cudaStream_t stream);

}  // namespace likewise::cuda
