// SPDX-License-Identifier: Apache-2.0
/// Which items may be among the k best of a query: products on the tensor cores whose results never
/// leave the multiprocessor.
///
/// An estimate e of a score s is off by at most E: |e - S s| <= E. Whoever is among the k best has
/// an estimate of at least the k-th largest of all estimates less 2 E (docs/math.md, "Lists on a
/// GPU"). A block walks over the items with 128 queries. It keeps what is above a query's
/// threshold, which starts at the bottom; when a query has kept many it finds the k-th largest
/// among them, raises the threshold to that less 2 E and drops what is below.
#pragma once

#include <cstdint>

#include "backends/cuda/top_k/top_k_table.h"

namespace likewise::cuda {

/// What a query has kept: `count` of them; more than there was room for are kTooMany.
struct KeptPlaces {
  static constexpr int kTooMany = -1;

  float* estimates = nullptr;  ///< room for each query and share
  Index* places = nullptr;     ///< the same
  int* counts = nullptr;       ///< of each query and share
  int room = 0;
  int shares = 1;  ///< parts of the items, each walked over by a block of its own
};

struct CandidateSearch {
  // Queries, padded to kTopKTile.
  const __half* queries = nullptr;
  const QueryNumbers* numbers = nullptr;
  Index query_count = 0;

  const __half* items = nullptr;
  const float* bias = nullptr;      ///< of estimates; null: none
  const RestBound* rest = nullptr;  ///< by tile
  const Index* item = nullptr;      ///< of a place
  Index item_count = 0;
  Index pitch = 0;

  // What a query must not get: null where there is nothing of the kind.
  const Offset* excluded_offsets = nullptr;  ///< of the queries here
  const Index* excluded = nullptr;           ///< items, rising; from the first offset on
  const std::uint8_t* allowed = nullptr;     ///< by item

  int k = 0;
  KeptPlaces kept;
};

/// What the k best of so many need at least.
[[nodiscard]] int room_for(int k);

/// Shares of the items that keep the whole GPU busy with so many queries.
[[nodiscard]] int shares_for(Index queries, Index items);

void find_candidates(const CandidateSearch& search, cudaStream_t stream);

}  // namespace likewise::cuda
