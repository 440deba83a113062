// SPDX-License-Identifier: Apache-2.0
/// Neighbours by a GEMM over dense rows, for matrices of which most cells are filled.
#pragma once

#include <optional>

#include "backends/cuda/knn/knn_candidates.h"
#include "backends/cuda/knn/knn_dense.h"
#include "backends/jobs/knn.h"
#include "likewise/knn.h"

namespace likewise::cuda {

/// Keeps its memory from one search to the next; one search at a time.
class GemmSearch {
 public:
  explicit GemmSearch(const GpuRows& rows);

  /// Of the part's rows. Ties to the smaller row; `by_rank`: ranks, ties to the smaller one.
  /// Nothing where a row has too many candidates of almost the same cosine. `rank_of` is on the
  /// GPU.
  [[nodiscard]] std::optional<KnnLists> find(const PairNumbers& formula, const GpuRowStats& stats,
                                             const Index* rank_of, Index k, bool by_rank,
                                             const SearchPart& part, const RunControl& control);

 private:
  Index rows_;
  Index cols_;
  Stream stream_;
  DenseRows table_;
  Index batch_;  ///< rows whose cosines are there at a time
  Index room_;   ///< for candidates of a row
  DeviceArray<float> cosines_;
  DeviceArray<float> least_;
  DeviceArray<CandidateCount> counts_;
  DeviceArray<Index> candidates_;
  // The GPU writes lists straight to the host.
  PinnedArray<Index> found_;
  PinnedArray<Candidate> lists_;
};

}  // namespace likewise::cuda
