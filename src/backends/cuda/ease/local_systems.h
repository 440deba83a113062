// SPDX-License-Identifier: Apache-2.0
/// The systems of local EASE on a GPU: one for each item, of its candidates alone.
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// Of the system of all items, what EaseEntries makes; candidates of items, rising, each once and
/// without the item itself. A candidate of an item and its weight lie at the same place.
struct LocalSystems {
  const float* cosines = nullptr;   ///< (S + L)_ij d_i d_j for j >= i, 1 or 0 for j = i
  Index order = 0;                  ///< numbers from one row of them to the next
  const double* shrinks = nullptr;  ///< d_i
  const double* of_row = nullptr;   ///< n_i^(-s)

  const Offset* offsets = nullptr;  ///< of the candidates of items
  const Index* candidates = nullptr;

  // Lists, the largest weight first and of equal ones the smaller item: no zeros.
  Index* listed = nullptr;
  float* weights = nullptr;
  Index* counts = nullptr;    ///< of items
  Index* singular = nullptr;  ///< of items: the first candidate without a pivot, by place; or -1
};

/// How blocks have room for systems of up to so many candidates.
struct LocalRoom {
  int tiles = 0;        ///< of 16 rows, of the largest system
  int keys = 0;         ///< to sort, a power of two
  int shared = 0;       ///< bytes of shared memory
  Offset spare = 0;     ///< numbers of a block where its tiles are not in shared memory; else 0
  unsigned blocks = 0;  ///< at most, at a time
};

/// On a GPU that gives a block so many bytes of shared memory.
[[nodiscard]] LocalRoom local_room(Index candidates, int most_shared, int multiprocessors);

/// Solves the systems of items [first, end) and makes their lists. `spare` has room for
/// room.spare numbers of room.blocks blocks.
void solve_local_systems(const LocalSystems& systems, const LocalRoom& room, Index first, Index end,
                         float* spare, cudaStream_t stream);

}  // namespace likewise::cuda
