// SPDX-License-Identifier: Apache-2.0
/// Exact lists from cosines that are known up to an error e.
///
/// Rows whose cosine is beyond e from 0 (above e, where negatives are dropped) certainly have a
/// similarity. Whoever is among the k nearest has a computed cosine of at least the k-th largest
/// of theirs less 2 e: all of these are candidates, whose products are computed anew in float64,
/// added up in the order of the reference. So the lists are the reference's to the bit.
#pragma once

#include "backends/cuda/neighbour_search.h"

namespace likewise::cuda {

/// Of a row. With more it has no list.
inline constexpr int kMostCandidates = 1024;

struct CandidateTask {
  Index first = 0;  ///< rows whose lists are wanted
  Index count = 0;

  const float* cosines = nullptr;  ///< from row `first` on; NaN: no candidate
  Index cosine_pitch = 0;          ///< a multiple of 4; behind the last row stand NaNs
  float error = 0.0F;

  const float* weights = nullptr;  ///< missing cells are 0
  Index pitch = 0;                 ///< a multiple of 32; zeros behind the last column
  Index cols = 0;
  const Index* rank_of = nullptr;
  CardFormula formula;
  CardFacts facts;

  Index room = 0;                 ///< for candidates of a row
  Index* candidates = nullptr;    ///< how many, from row `first` on; scratch
  std::uint64_t* keys = nullptr;  ///< `room` each; scratch

  Index k = 0;
  Index* found = nullptr;      ///< from row `first` on; -1: more than `room` candidates
  Candidate* lists = nullptr;  ///< k each
};
void list_candidates(const CandidateTask& task, cudaStream_t stream);

}  // namespace likewise::cuda
