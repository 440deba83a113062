// SPDX-License-Identifier: Apache-2.0
/// The exact top k of a block of queries, by scanning panels of items and skipping what cannot win.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/knn/estimates.h"
#include "backends/cpu/top_k/item_panels.h"
#include "backends/jobs/top_k.h"
#include "retrieval/top_list.h"

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
  ScoreKind score;
  std::span<const float> centre;  ///< of distances: what panels and estimates are seen from
  std::unique_ptr<const ItemPanels> panels;
  std::unique_ptr<const EstimateTable> estimates;
};

/// What a query and an item score, from their exact_dot_pairs() or exact_squared_distance_pairs():
/// rounded once, the same number whatever the block, the thread or the instruction set.
[[nodiscard]] float exact_score(const ItemTable& table, Index item, double sum);

/// What all blocks of one call share.
struct TopKTask {
  const ItemTable& table;
  MatrixView queries;
  const TopKFilter& filter;
  std::vector<Index> order;         ///< the queries as blocks take them
  std::vector<std::uint64_t> open;  ///< per panel, a bit for each item that may be an answer
  ScanCounts* counts;               ///< may be null
};

/// The `open` of a task: filled places whose item the mask allows.
[[nodiscard]] std::vector<std::uint64_t> open_places(const ItemPanels& panels,
                                                     std::span<const std::uint8_t> allowed);

/// The order of queries in blocks: as they are, or by their distance from the centre, so that a
/// block begins where the nearest are likely.
[[nodiscard]] std::vector<Index> query_order(const ItemTable& table, const MatrixView& queries);

/// The order in which a block visits panels: from one of them to both ends, turn by turn.
class PanelWalk {
 public:
  PanelWalk(Index start, Index panels) : below_(start), from_(start), panels_(panels) {}
  /// Panels [0, below) and [from, panels) are left.
  [[nodiscard]] Index below() const { return below_; }
  [[nodiscard]] Index from() const { return from_; }
  [[nodiscard]] bool done() const { return below_ == 0 && from_ == panels_; }
  [[nodiscard]] Index next() {
    up_ = (!up_ || below_ == 0) && from_ < panels_;
    return up_ ? from_++ : --below_;
  }
  void leave_lower() { below_ = 0; }
  void leave_upper() { from_ = panels_; }

 private:
  Index below_;
  Index from_;
  Index panels_;
  bool up_ = false;
};

/// Searches queries [first, first + count) of the task's order, count <= kQueries.
///
/// Panels come best first. An estimate with a proven error turns each panel into a few candidates,
/// which are tested against the filters and scored exactly. A query skips a panel whose bound
/// |q| norm + bias  is below its worst answer, or whose items are all longer or shorter than the
/// query by more than the distance of its worst answer; and leaves the block when all panels that
/// are left are such.
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

  void add_query(Index q, Index k);
  [[nodiscard]] MatrixView load_queries(Index count);
  void mark_excluded(Index q);
  [[nodiscard]] PanelWalk walk() const;
  void drop_finished(PanelWalk& walk);
  [[nodiscard]] bool may_win(Index q, const ScoreBound& bound) const;
  [[nodiscard]] bool may_win(Index q, const NormRange& norms) const;
  [[nodiscard]] bool may_win_in(Index q, Index panel) const;
  [[nodiscard]] float threshold(Index q, Index panel) const;
  void update_threshold(Index q);
  void select(Index panel);
  void scan(Index panel);
  void bring(Index panel, std::uint64_t places) const;
  void gather(Index q, Index panel, std::uint64_t hits);
  void offer_gathered();
  [[nodiscard]] std::uint64_t excluded_places(Index q, Index panel) const;
  [[nodiscard]] Query& query(Index q) { return queries_[static_cast<std::size_t>(q)]; }
  /// Its row in the task's queries.
  [[nodiscard]] Index number(Index q) const {
    return task_.order[static_cast<std::size_t>(first_ + q)];
  }

  const TopKTask& task_;
  const ItemPanels& panels_;
  Index first_;
  Index marked_panels_;  ///< panels whose excluded places are bits; later ones search
  std::vector<Query> queries_;
  std::array<float, kQueries> norms_{};
  std::array<float, kQueries> lowest_{};  ///< true scores below cannot be answers any more
  bool distances_;
  Matrix centred_;                          ///< of distances: the queries seen from the centre
  std::array<double, kQueries> lengths_{};  ///< theirs
  std::array<double, kQueries> reach_{};    ///< items further away cannot be answers any more
  std::vector<std::uint64_t> marks_;        ///< marked_panels_ words a query
  std::unique_ptr<Estimator> estimator_;
  std::vector<Index> active_;                 ///< queries that may still change
  std::vector<Index> selected_;               ///< those that have to see the current panel
  std::array<float, kQueries> thresholds_{};  ///< of the selected, as estimates are compared
  std::array<std::uint64_t, kQueries> hits_{};
  /// Items of a panel that may be answers, each with its query.
  struct Hits {
    std::vector<Index> query;
    std::vector<Index> item;
    std::vector<const float*> query_row;
    std::vector<const float*> item_row;
    std::vector<double> sum;
  };
  Hits gathered_;
  Offset scanned_ = 0;
  Offset rescored_ = 0;
};

}  // namespace likewise
