// SPDX-License-Identifier: Apache-2.0
/// The exact top k of a block of queries, by scanning panels of items and skipping what cannot win.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/neighbours/estimates.h"
#include "backends/cpu/top_k/item_panels.h"
#include "backends/cpu/top_k/top_list.h"
#include "backends/jobs/top_k.h"

namespace likewise {

/// How much work a search did, added up over blocks: for benchmarks and tests.
struct ScanCounts {
  std::atomic<Offset> scanned{0};   ///< (query, item) pairs whose score was estimated
  std::atomic<Offset> rescored{0};  ///< pairs whose exact score was computed
};

/// The item table in every form that a search needs; shared and read-only.
struct ItemTable {
  MatrixView items;
  std::span<const float> item_bias;
  std::unique_ptr<const ItemPanels> panels;
  std::unique_ptr<const EstimateTable> estimates;
};

/// score(q, i) = q . y_i + bias_i, summed in double in a fixed order and rounded once: the same
/// number whatever the block, the thread or the instruction set.
[[nodiscard]] float exact_score(const ItemTable& table, const float* query, Index item);

/// What all blocks of one call share.
struct TopKTask {
  const ItemTable& table;
  MatrixView queries;
  const TopKFilter& filter;
  std::vector<std::uint64_t> open;  ///< per panel, a bit for each item that may be an answer
  ScanCounts* counts;               ///< may be null
};

/// The `open` of a task: filled places whose item the mask allows.
[[nodiscard]] std::vector<std::uint64_t> open_places(const ItemPanels& panels,
                                                     std::span<const std::uint8_t> allowed);

/// Searches queries [first, first + count), count <= kQueries.
///
/// Panels come best first. An estimate with a proven error turns each panel into a few candidates,
/// which are tested against the filters and scored exactly. A query skips a panel whose bound
/// |q| norm + bias  is below its worst answer, and leaves the block when all panels that follow
/// are.
class TopKSearch {
 public:
  static constexpr Index kQueries = 96;

  TopKSearch(const TopKTask& task, Index first, Index count, Index k);
  void run(TopKResult& result);

 private:
  struct Query {
    const float* row = nullptr;
    std::span<const Index> excluded;
    TopList best;
  };

  void mark_excluded(Index q);
  void drop_finished(Index panel);
  void update_threshold(Index q);
  void select(Index panel);
  void scan(Index panel);
  void collect(Index q, Index panel, std::uint64_t hits);
  [[nodiscard]] std::uint64_t excluded_places(Index q, Index panel) const;
  [[nodiscard]] Query& query(Index q) { return queries_[static_cast<std::size_t>(q)]; }

  const TopKTask& task_;
  const ItemPanels& panels_;
  Index first_;
  Index marked_panels_;  ///< panels whose excluded places are bits; later ones search
  std::vector<Query> queries_;
  std::array<float, kQueries> norms_{};
  std::array<float, kQueries> lowest_{};  ///< true scores below cannot be answers any more
  std::vector<std::uint64_t> marks_;      ///< marked_panels_ words a query
  std::unique_ptr<Estimator> estimator_;
  std::vector<Index> active_;                 ///< queries that may still change
  std::vector<Index> selected_;               ///< those that have to see the current panel
  std::array<float, kQueries> thresholds_{};  ///< lowest_ of the selected
  std::array<std::uint64_t, kQueries> hits_{};
  Offset scanned_ = 0;
  Offset rescored_ = 0;
};

}  // namespace likewise
