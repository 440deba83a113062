// SPDX-License-Identifier: Apache-2.0
/// The kernel that compares rows, as the host sees it.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "algorithms/knn/pair_formula.h"
#include "backends/cuda/knn/knn_table.h"
#include "retrieval/top_k.h"

namespace likewise::cuda {

/// What the formula wants to know of the rows, by rank.
struct GpuRowStats {
  const double* norm = nullptr;
  const double* count = nullptr;
  const double* damped_count = nullptr;  ///< count^damping
  const double* noise = nullptr;
  const Index* row = nullptr;  ///< the row's own number
};

/// Some entries of a query that several blocks share.
struct QueryPart {
  Index query = 0;   ///< counts from the task's first
  Index parts = 0;   ///< of this query
  Offset begin = 0;  ///< entries [begin, end) of the queries' matrix
  Offset end = 0;
};

/// Queries first, first + step, ..., `count` of a list, against all rows.
struct SearchTask {
  // The queries. Their statistics are beside the list.
  const Offset* offsets = nullptr;
  const Index* columns = nullptr;
  const float* weights = nullptr;
  const Index* order = nullptr;  ///< the list; null where it is 0, 1, 2, ...
  const double* norms = nullptr;
  const double* counts = nullptr;
  const double* noises = nullptr;
  Index first = 0;
  Index step = 1;
  Index count = 0;

  // The rows.
  Index rows = 0;
  Index cols = 0;
  TilePlan plan;
  const Offset* starts = nullptr;
  const SlotEntry* entries = nullptr;
  PairNumbers formula;  ///< with its table on the GPU
  GpuRowStats stats;

  unsigned int* next = nullptr;  ///< 0 at the start: blocks draw their work from it

  // The first `shared` queries come in parts, which blocks draw first. For lists, where sums in
  // float32 are exact, so that their order does not matter.
  Index shared = 0;
  Index part_count = 0;
  const QueryPart* parts = nullptr;
  float* part_sums = nullptr;       ///< 0 at the start: plan.sums arrays of `rows` for each query
  unsigned int* arrived = nullptr;  ///< 0 at the start: parts of each query that were added

  // Either lists of the k best, k >= 1: `found` and `lists` (k each) from the first query on ...
  Index k = 0;
  Index* found = nullptr;
  Candidate* lists = nullptr;
  bool by_rank = false;                 ///< lists hold ranks, ties go to the smaller one
  const float* tied = nullptr;          ///< beside the list: only rows that are as similar count,
                                        ///< those with more common entries first; 4 or 6 sums
  std::uint64_t* spare_keys = nullptr;  ///< key_capacity of each block, where k is large
  int key_capacity = 0;                 ///< a power of two
  // ... or all similarities, rows for each query from the first on.
  float* scores = nullptr;
};

/// Keys that a block needs room for while it looks for the k best.
[[nodiscard]] int key_capacity(Index k);
/// Bytes of shared memory that a block should have on the current GPU.
[[nodiscard]] int search_shared_memory();
/// Blocks that run at a time.
[[nodiscard]] int search_blocks(const TilePlan& plan);
void search_rows(const SearchTask& task, int blocks, cudaStream_t stream);

}  // namespace likewise::cuda
