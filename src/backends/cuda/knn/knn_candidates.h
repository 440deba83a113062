// SPDX-License-Identifier: Apache-2.0
/// Exact lists from cosines that are known up to an error e.
///
/// Rows whose cosine is beyond e from 0 (above e, where negatives are dropped) certainly have a
/// similarity. Whoever is among the k nearest has a computed cosine of at least the k-th largest
/// of theirs less 2 e: all of these are candidates, whose products are computed again in float64,
/// added up in the order of the reference. So the lists are bit-identical to the reference's. Two
/// rows that are candidates of each other are computed once.
#pragma once

#include "backends/cuda/host/gpu_knn_cost.h"
#include "backends/cuda/knn/knn_search.h"

namespace likewise::cuda {

/// How many a row has: `own` are scored for it, `other` for them, because it is theirs too.
struct CandidateCount {
  Index own = 0;
  Index other = 0;
};

struct CandidateTask {
  Index first = 0;  ///< rows whose lists are wanted
  Index count = 0;

  float* cosines = nullptr;  ///< from row `first` on; NaN: no candidate. Scores take their place
  Index cosine_pitch = 0;    ///< a multiple of 4; behind the last row stand NaNs
  float error = 0.0F;

  const float* weights = nullptr;  ///< missing cells are 0
  Index pitch = 0;                 ///< a multiple of 32; zeros behind the last column
  Index cols = 0;
  const Index* rank_of = nullptr;
  PairNumbers formula;
  GpuRowStats stats;

  // Scratch, from row `first` on.
  float* least = nullptr;  ///< cosine of a candidate
  CandidateCount* counts = nullptr;
  Index* candidates = nullptr;  ///< `room` each: own ones from the front, others from the back
  Index room = 0;

  // From row `first` on, too.
  Index k = 0;
  Index* found = nullptr;      ///< -1: more than `room` candidates
  Candidate* lists = nullptr;  ///< k each
  bool by_rank = false;        ///< lists hold ranks, ties go to the smaller one
};
void list_candidates(const CandidateTask& task, cudaStream_t stream);

}  // namespace likewise::cuda
