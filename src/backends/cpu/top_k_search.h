// SPDX-License-Identifier: Apache-2.0
/// The exact top k of a block of queries, by scanning panels of items and skipping what cannot win.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "backends/cpu/packed_items.h"
#include "backends/top_k.h"
#include "likewise/backend.h"

namespace likewise {

/// How much work a search did, added up over blocks: for benchmarks and tests.
struct ScanCounts {
  std::atomic<Offset> scanned{0};   ///< (query, item) pairs whose score was estimated
  std::atomic<Offset> rescored{0};  ///< pairs whose exact score was computed
};

/// What all blocks of one call share.
struct TopKTask {
  const PackedItems& packed;
  MatrixView items;
  std::span<const float> item_bias;
  MatrixView queries;
  const TopKFilter& filter;
  ScanCounts* counts;  ///< may be null
};

/// score(q, i) = q . y_i + bias_i, summed in double in a fixed order and rounded once: the same
/// number whatever the block, the thread or the instruction set.
[[nodiscard]] float exact_score(const TopKTask& task, const float* query, Index item);

/// Searches queries [first, first + count), count <= kQueries.
///
/// Panels come best first. A panel's estimates come from find_hits() with a threshold lowered by
/// more than their rounding error, so a hit is only a candidate: it is then tested against the
/// filters and scored exactly. A query skips a panel whose bound  |q| norm + bias  is below its
/// threshold, and leaves the block when all panels that follow are.
class TopKSearch {
 public:
  static constexpr Index kQueries = 96;

  TopKSearch(const TopKTask& task, Index first, Index count, Index k);
  void run(TopKResult& result);

 private:
  /// One query's state; `heap` has the worst kept answer in front.
  struct Query {
    Index number = 0;
    const float* row = nullptr;
    float norm = 0.0F;
    std::span<const Index> excluded;
    std::vector<Candidate> heap;
  };

  void drop_finished(Index panel);
  void select(Index panel);
  void scan(Index panel);
  void collect(Query& query, Index panel, std::uint64_t hits);
  void offer(Query& query, const Candidate& candidate) const;
  [[nodiscard]] bool answers(const Query& query, Index item) const;
  [[nodiscard]] float lowered_threshold(const Query& query, const ScoreBound& bound) const;

  const TopKTask& task_;
  std::size_t k_;
  float rounding_;
  std::vector<Query> queries_;
  std::vector<Index> active_;    ///< queries that may still change
  std::vector<Index> selected_;  ///< those that have to see the current panel
  std::array<const float*, kQueries> rows_{};
  std::array<float, kQueries> thresholds_{};
  std::array<std::uint64_t, kQueries> hits_{};
  Offset scanned_ = 0;
  Offset rescored_ = 0;
};

}  // namespace likewise
