// SPDX-License-Identifier: Apache-2.0
/// What both strategies to find neighbours cost on a GPU.
#pragma once

#include "algorithms/knn/similarity.h"
#include "backends/cuda/host/plugin.h"
#include "backends/jobs/knn_cost.h"

namespace likewise {

/// Of a row, from products of whole rows. With more it has no list.
inline constexpr int kMostCandidates = 1024;

/// Whether products of whole rows, a GEMM, find so many neighbours: cosines are all that the
/// formula looks at, and lists are short enough.
[[nodiscard]] bool gemm_can(const PairNumbers& formula, Index k);
/// Numbers that a pair of entries adds to.
[[nodiscard]] int sums_of(SumsNeeded sums);

struct KnnWork {
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;
  double common = 0.0;  ///< pairs of entries in one column, each met from both sides
  int sums = 1;         ///< numbers that such a pair adds to
  int tiles = 16;       ///< parts that the rows' sums are cut into
  Index k = 1;
  bool dense_can = false;  ///< the formula needs products of whole rows only: a GEMM
};

[[nodiscard]] KnnCost gpu_knn_cost(const KnnWork& work, const GpuInfo& gpu);

}  // namespace likewise
