// SPDX-License-Identifier: Apache-2.0
/// Which items may be among the k best of a query: products on the tensor cores whose results never
/// leave the multiprocessor.
///
/// An estimate e of a score s is off by at most E, which is less for short items: |e - S s| <= E.
/// S times the k-th best score is at least the k-th largest e - E of any items, so whoever is among
/// the k best has an e + E of at least that (math.md, "Lists on a GPU"). A block walks over
/// the items with 128 queries. It keeps what reaches a query's threshold, which begins with a
/// sample of the items; now and then it finds the k-th largest e - E of what it has kept, raises
/// the threshold to that and drops what is below. Blocks that have the same queries and a share of
/// the items each begin with the samples of all shares, which are taken in a launch of their own,
/// and what the k best of all shares leave behind is dropped at the end.
#pragma once

#include <cstdint>

#include "backends/cuda/top_k/top_k_table.h"

namespace likewise::cuda {

struct KeptPlace {
  float least;  ///< that S times the score can be
  Index place;
};

/// What queries have kept. More than there was room for are kTooMany.
struct KeptPlaces {
  static constexpr int kTooMany = -1;

  KeptPlace* places = nullptr;  ///< room for each query and share
  int* counts = nullptr;        ///< of each query and share
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

  /// What a query must not get: a bit for each place of whole tiles, two words to a tile. The bits
  /// behind the last item are set.
  const std::uint64_t* denied = nullptr;
  Offset denied_pitch = 0;  ///< words from query to query; 0: the same for all

  /// Tiles that are looked at before all others, for the first thresholds.
  int sampled = 0;
  bool spread = false;  ///< the sample is from all over the items; else it is the first ones

  int k = 0;
  KeptPlaces kept;
};

/// What the k best of so many need at least.
[[nodiscard]] int room_for(int k);

/// Queries that keep the whole GPU busy.
[[nodiscard]] Index queries_at_a_time();

/// Shares of the items that keep the whole GPU busy with so many queries.
[[nodiscard]] int shares_for(Index queries, Index items);

/// What a sample is worth its time for.
[[nodiscard]] int sampled_tiles(int k, int room, int shares, Index items);

void find_candidates(const CandidateSearch& search, cudaStream_t stream);

}  // namespace likewise::cuda
