// SPDX-License-Identifier: Apache-2.0
/// Sparse rows times sparse columns with a dense row of sums. Rows are numbered by falling length:
/// a row is compared with the longer ones only, the rest comes by symmetry, and so the head of
/// every column and of the sums, which stays in cache, gets nearly all of the work.
#include "likewise/knn.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/knn/similarity.h"
#include "backends/cpu/jobs.h"
#include "backends/cpu/kernels/pair_sums.h"
#include "backends/cpu/knn/cosine_search.h"
#include "backends/cpu/knn/dense_pairs.h"
#include "backends/cpu/knn/exact_sums.h"
#include "backends/cpu/knn/knn_table.h"
#include "backends/cpu/knn/positions_by_column.h"
#include "backends/cpu/pool.h"
#include "backends/distributed/partition.h"
#include "core/lazy.h"
#include "core/system/parallel.h"
#include "retrieval/knn_lists.h"
#include "retrieval/top_list.h"

namespace likewise {
namespace {

/// Rows looked through at once: their sums stay in the L1 cache.
constexpr Index kRowBlock = 2048;
constexpr Index kFirstRowBlock = 64;

/// Numbers per row that a pass adds to.
[[nodiscard]] constexpr int lanes_of(SumsNeeded sums) {
  return sums == SumsNeeded::kProducts ? 1 : sums == SumsNeeded::kSquares ? 4 : 8;
}

/// Sums are added to by whole groups.
[[nodiscard]] constexpr Offset padded(Index rows) {
  return (Offset{rows} + kernels::kGroup - 1) / kernels::kGroup * kernels::kGroup;
}

template <int kLanes, class Rank, class T>
void add_pairs(const kernels::PairPass<Rank>& pass, T* sums) {
  if constexpr (kLanes == 1) {
    kernels::add_products(pass, sums);
  } else if constexpr (kLanes == 4) {
    kernels::add_squares(pass, sums);
  } else {
    kernels::add_all(pass, sums);
  }
}

template <int kLanes, class T>
[[nodiscard]] PairSums unpack(const T* s) {
  if constexpr (kLanes == 1) {
    return {.xy = double{s[0]}};
  } else if constexpr (kLanes == 4) {
    return {.n = double{s[0]}, .xx = double{s[1]}, .yy = double{s[2]}, .xy = double{s[3]}};
  } else {
    return {double{s[0]}, double{s[1]}, double{s[2]}, double{s[3]}, double{s[4]}, double{s[5]}};
  }
}

[[nodiscard]] PairSums swapped(const PairSums& s) { return {s.n, s.y, s.x, s.yy, s.xx, s.xy}; }

template <class Rank>
class CpuKnnSearch final : public KnnSearch {
 public:
  explicit CpuKnnSearch(const SimilarityProblem& problem)
      : formula_(problem.formula()),
        rows_(problem.rows()),
        in_float_(exact_in_float(rows_)),
        few_(FewValues::of(rows_.weights.all_values())),
        order_(by_falling_length(rows_.weights)) {}

  [[nodiscard]] KnnLists find_part(const SearchPart& part, Index k,
                                   const RunControl& control) const override {
    const Index rows = rows_.weights.rows;
    const Index kept = std::min(k, std::max<Index>(0, rows - 1));
    const bool estimated = can_estimate(formula_, rows_.stats) && estimates_pay(rows, kept);
    const KnnCost cost = in_float_ || estimated
                             ? DensePairs<float>::cost(rows_.weights, lanes_of(formula_.sums))
                             : DensePairs<double>::cost(rows_.weights, lanes_of(formula_.sums));
    control.remark(describe(cost));
    const bool by_estimates = kept > 0 && estimated && cost.takes_dense();
    if (by_estimates) {
      auto found = find_by_estimates(rows_, formula_, kept, control, part);
      if (found) return std::move(*found);
    }
    // Parts by estimates are cut in another way: where this one's are no help, other parts may have
    // taken theirs, and only a whole search is sure to meet the pairs that they leave.
    const SearchPart searched = by_estimates ? SearchPart() : part;
    KnnTable table(rows_.weights, order_, kept);
    if (kept > 0) {
      with_sums([&]<int kLanes, class T>() {
        search<kLanes, T>(table, kept, cost.takes_dense(), searched, control);
      });
    }
    parallel_for(rows, 256, [&](Offset rank) { table.sort(static_cast<Index>(rank)); });
    std::vector<Index> rank_of(order_.size());
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      rank_of[static_cast<std::size_t>(order_[rank])] = static_cast<Index>(rank);
    }
    return pack_knn_lists(
        rows, [&](Index row) { return table.sorted(rank_of[static_cast<std::size_t>(row)]); });
  }

  void similarities(const WeightedRows& queries, float* out) const override {
    // An outside row's values need not be multiples of the same power of two.
    if (lanes_of(formula_.sums) == 1) return compare<1, double>(queries, out);
    if (lanes_of(formula_.sums) == 4) return compare<4, double>(queries, out);
    compare<8, double>(queries, out);
  }

 private:
  [[nodiscard]] const PositionsByColumn<Rank>& by_column() const {
    return by_column_.get([&] {
      const bool products = lanes_of(formula_.sums) == 1;
      return std::make_unique<PositionsByColumn<Rank>>(
          rows_.weights, order_,
          products && kernels::groups_pay() ? ColumnHeads::kGrouped : ColumnHeads::kListed,
          products ? few_ : std::nullopt);
    });
  }

  template <class Body>
  void with_sums(const Body& body) const {
    const auto with_type = [&]<int kLanes>() {
      if (in_float_) {
        body.template operator()<kLanes, float>();
      } else {
        body.template operator()<kLanes, double>();
      }
    };
    switch (lanes_of(formula_.sums)) {
      case 1:
        return with_type.template operator()<1>();
      case 4:
        return with_type.template operator()<4>();
      default:
        return with_type.template operator()<8>();
    }
  }

  [[nodiscard]] const RowStats& stats_of(Index rank) const {
    return rows_.stats[static_cast<std::size_t>(order_[static_cast<std::size_t>(rank)])];
  }

  /// Factors that turn a sum of products into an estimate of the similarity; empty where the
  /// formula has no such estimate.
  template <class T>
  [[nodiscard]] std::vector<T> estimate_factors() const {
    const bool cosine = formula_.form == PairForm::kCosine;
    const bool simple = formula_.sums == SumsNeeded::kProducts && formula_.amplification == 1.0;
    if (!simple || !(cosine || formula_.form == PairForm::kDot)) return {};
    std::vector<T> factors(order_.size(), T{1});
    for (std::size_t rank = 0; cosine && rank < factors.size(); ++rank) {
      const double norm = stats_of(static_cast<Index>(rank)).norm;
      factors[rank] = norm > 0.0 ? static_cast<T>(1.0 / norm) : T{0};
    }
    return factors;
  }

  template <class T>
  struct Search {
    KnnTable& table;
    Index k;
    std::vector<T> factors;
    Index first;  ///< ranks [first, end) are compared with those before them
    Index end;
    const RunControl& control;
  };

  /// Buffers of a task.
  template <class T>
  struct Worker {
    Array<T> sums;
    KnnTable::Offers offers;
    typename DensePairs<T>::Scratch scratch;
  };

  /// The ranks of each part. Pairs are shared out by what they cost: a rank is compared with all
  /// before it, number by number, or entry by entry and then number by number.
  [[nodiscard]] Partition cut_ranks(bool dense, int parts) const {
    std::vector<Index> before(static_cast<std::size_t>(rows_.weights.cols));  // entries of a column
    return cut_equally(rows_.weights.rows, parts, [&](Index rank) {
      double cost = rank;
      if (dense) return cost;
      const Index row = order_[static_cast<std::size_t>(rank)];
      for (const Index column : rows_.weights.row_columns(row)) {
        cost += before[static_cast<std::size_t>(column)]++;
      }
      return cost;
    });
  }

  template <int kLanes, class T>
  void search(KnnTable& table, Index k, bool dense, const SearchPart& part,
              const RunControl& control) const {
    Index first = 0;
    Index end = rows_.weights.rows;
    if (part.of > 1) {
      const Partition ranks = cut_ranks(dense, part.of);
      first = ranks.first(part.number);
      end = ranks.end(part.number);
    }
    const Search<T> task{table, k, estimate_factors<T>(), first, end, control};
    if (dense) {
      const DensePairs<T> pairs(rows_.weights, order_, kLanes);
      search_ranks(task, pairs.block_rows(), pairs.block_sums(),
                   [&](Worker<T>& worker, Index rank, Index count) {
                     search_block<kLanes>(task, pairs, rank, count, worker);
                   });
    } else {
      const PositionsByColumn<Rank>& columns = by_column();
      search_ranks(task, 4, padded(rows_.weights.rows) * kLanes,
                   [&](Worker<T>& worker, Index rank, Index count) {
                     for (Index r = rank; r < rank + count; ++r) {
                       search_row<kLanes>(task, columns, r, worker);
                     }
                   });
    }
  }

  /// search(worker, rank, count) for blocks of ranks. Thresholds rise between waves only: short
  /// ones first, when they rise fastest.
  template <class T, class SearchBlock>
  void search_ranks(const Search<T>& task, Index block, Offset sums,
                    const SearchBlock& search) const {
    Pool<Worker<T>> workers;
    for (Index begin = task.first; begin < task.end;) {
      const Index end = begin + std::min(task.end - begin, std::clamp<Index>(begin / 4, 256, 4096));
      parallel_blocks(end - begin, block, [&](Offset first, Offset last, Offset) {
        task.control.check();
        auto worker = workers.take([&] { return Worker<T>{Array<T>(sums), {}, {}}; });
        search(*worker, begin + static_cast<Index>(first), static_cast<Index>(last - first));
        workers.give_back(std::move(worker));
      });
      for (const auto& worker : workers.all()) task.table.finish(worker->offers);
      task.table.raise_thresholds();
      begin = end;
      task.control.report("neighbours", begin - task.first, task.end - task.first, "rows");
    }
  }

  /// Compares a block of rows with all before it and with one another.
  template <int kLanes, class T>
  void search_block(const Search<T>& task, const DensePairs<T>& pairs, Index rank, Index count,
                    Worker<T>& worker) const {
    const Index limit = rank + count;
    pairs.add(rank, count, limit, worker.scratch, worker.sums.data());
    for (Index r = 0; r < count; ++r) {
      T* const sums = worker.sums.data() + r * pairs.stride_of(limit);
      offer_row<kLanes>(task, rank + r, sums, worker.offers);
    }
  }

  /// Compares the row of this rank with all before it. The sums are 0 before and after.
  template <int kLanes, class T>
  void search_row(const Search<T>& task, const PositionsByColumn<Rank>& columns, Index rank,
                  Worker<T>& worker) const {
    const Index row = order_[static_cast<std::size_t>(rank)];
    if (rows_.weights.row_size(row) == 0) return;
    add_pairs<kLanes>(columns.pass(rows_.weights, row, rank), worker.sums.data());
    offer_row<kLanes>(task, rank, worker.sums.data(), worker.offers);
  }

  /// Offers the similarities from the sums of a row, and clears the sums.
  template <int kLanes, class T>
  void offer_row(const Search<T>& task, Index rank, T* sums, KnnTable::Offers& offers) const {
    BestList<NearRow, NearerTo> own(task.table.nearer_to(rank));
    own.reset(static_cast<std::size_t>(task.k));
    std::vector<Index> hits(kRowBlock);
    // Short blocks first: the own list's threshold rises between them.
    for (Index first = 0, count = 0; first < rank; first += count) {
      count = std::min(rank - first, std::clamp(first, kFirstRowBlock, kRowBlock));
      T* const block = sums + Offset{first} * kLanes;
      const Index found = find_hits<kLanes>(task, rank, first, count, block, own, hits.data());
      for (Index h = 0; h < found; ++h) {
        const Index y = first + hits[static_cast<std::size_t>(h)];
        const T* const at = sums + Offset{y} * kLanes;
        offer_pair(task.table, rank, y, unpack<kLanes>(at), common_from<kLanes>(at), own, offers);
      }
      std::fill_n(block, Offset{count} * kLanes, T{0});
    }
    task.table.offer(rank, own.finish());
  }

  /// The rows of a block that may enter a list.
  template <int kLanes, class T>
  [[nodiscard]] static Index find_hits(const Search<T>& task, Index rank, Index first, Index count,
                                       const T* sums, const BestList<NearRow, NearerTo>& own,
                                       Index* hits) {
    if constexpr (kLanes == 1) {
      if (!task.factors.empty()) {
        return kernels::find_offers(sums, task.factors.data() + first,
                                    task.table.thresholds().data() + first, count,
                                    task.factors[static_cast<std::size_t>(rank)],
                                    own.full() ? own.worst().score : kLowest, hits);
      }
    }
    Index found = 0;
    for (Index i = 0; i < count; ++i) {
      if (sums[Offset{i} * kLanes] != T{0}) hits[found++] = i;
    }
    return found;
  }

  /// From the sums, where they tell how many entries are common.
  template <int kLanes, class T>
  [[nodiscard]] Index common_from(const T* s) const {
    const bool counted = kLanes > 1 || (few_ && few_->are_ones());
    return counted ? static_cast<Index>(s[0]) : NearRow::kUncounted;
  }

  void offer_pair(KnnTable& table, Index x, Index y, const PairSums& s, Index common,
                  BestList<NearRow, NearerTo>& own, KnnTable::Offers& offers) const {
    const float to_y = formula_.similarity(stats_of(x), stats_of(y), s);
    const float to_x =
        formula_.symmetric() ? to_y : formula_.similarity(stats_of(y), stats_of(x), swapped(s));
    if (to_y != 0.0F) own.offer({{to_y, order_[static_cast<std::size_t>(y)]}, common});
    if (to_x == 0.0F || to_x < table.thresholds()[static_cast<std::size_t>(y)]) return;
    table.offer(offers, y, {{to_x, order_[static_cast<std::size_t>(x)]}, common});
  }

  template <int kLanes, class T>
  void compare(const WeightedRows& queries, float* out) const {
    const Index rows = rows_.weights.rows;
    const PositionsByColumn<Rank>& columns = by_column();
    Pool<Array<T>> pool;
    parallel_for(queries.weights.rows, 1, [&](Offset q) {
      auto buffer = pool.take([&] { return Array<T>(padded(rows) * kLanes); });
      add_pairs<kLanes>(columns.pass(queries.weights, static_cast<Index>(q), rows), buffer->data());
      const RowStats& x = queries.stats[static_cast<std::size_t>(q)];
      float* const to = out + q * rows;
      for (Index y = 0; y < rows; ++y) {
        T* const at = buffer->data() + Offset{y} * kLanes;
        to[order_[static_cast<std::size_t>(y)]] =
            at[0] == T{0} ? 0.0F : formula_.similarity(x, stats_of(y), unpack<kLanes>(at));
        std::fill_n(at, kLanes, T{0});
      }
      pool.give_back(std::move(buffer));
    });
  }

  static constexpr float kLowest = std::numeric_limits<float>::lowest();

  const PairFormula& formula_;
  WeightedRows rows_;
  bool in_float_;
  std::optional<FewValues> few_;                     ///< where all are 1, sums of products count
  std::vector<Index> order_;                         ///< rank -> row
  mutable Lazy<PositionsByColumn<Rank>> by_column_;  ///< a GEMM does without
};

}  // namespace

std::unique_ptr<KnnSearch> make_cpu_knn_search(const SimilarityProblem& problem) {
  if (problem.rows().weights.rows <= 65536) {
    return std::make_unique<CpuKnnSearch<std::uint16_t>>(problem);
  }
  return std::make_unique<CpuKnnSearch<Index>>(problem);
}

}  // namespace likewise
