// SPDX-License-Identifier: Apache-2.0
/// Sparse rows times sparse columns with a dense row of sums. Rows are numbered by falling length:
/// a row is compared with the longer ones only, the rest comes by symmetry, and so the head of
/// every column and of the sums, which stays in cache, gets nearly all of the work.
#include "likewise/neighbourhood.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/similarity.h"
#include "backends/cpu/jobs.h"
#include "backends/cpu/kernels/pair_sums.h"
#include "backends/cpu/neighbour_table.h"
#include "backends/cpu/top_list.h"
#include "backends/neighbour_lists.h"
#include "core/parallel.h"

namespace likewise {
namespace {

constexpr std::size_t kOffersKept = 4096;

/// Numbers per row that a pass adds to.
[[nodiscard]] constexpr int lanes_of(SumsNeeded sums) {
  return sums == SumsNeeded::kProducts ? 1 : sums == SumsNeeded::kSquares ? 4 : 8;
}

template <int kLanes, class T>
void add_pairs(const kernels::PairPass& pass, T* sums) {
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

/// Whether every sum over common entries is exact in float32, so that its order does not matter:
/// the values are multiples of a power of two and their squares stay small.
[[nodiscard]] bool exact_in_float(const WeightedRows& rows) {
  const CsrView& m = rows.weights;
  double unit = 1.0;
  for (Offset e = 0; e < m.nnz(); ++e) {
    const double v = double{m.values[e]};
    while (v * unit != std::rint(v * unit)) {
      unit *= 2.0;
      if (unit > 256.0) return false;
    }
  }
  double largest = 0.0;  // |sum a b| and the rest are at most this
  for (const RowFacts& row : rows.facts) {
    largest = std::max({largest, row.norm * row.norm, row.count});
  }
  return largest * unit * unit < 0x1p24;
}

/// Buffers that outlive the tasks using them.
template <class T>
class Pool {
 public:
  explicit Pool(Offset size) : size_(size) {}
  [[nodiscard]] Array<T> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return Array<T>(size_);
    Array<T> buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  /// All zeros again.
  void give_back(Array<T> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  Offset size_;
  std::mutex mutex_;
  std::vector<Array<T>> free_;
};

class CpuNeighbourSearch final : public NeighbourSearch {
 public:
  explicit CpuNeighbourSearch(const SimilarityProblem& problem)
      : formula_(problem.formula()),
        rows_(problem.rows()),
        in_float_(exact_in_float(rows_)),
        order_(by_falling_length(rows_.weights)) {
    sort_by_column();
  }

  [[nodiscard]] Neighbours find(Index k, const RunControl& control) const override {
    const Index rows = rows_.weights.rows;
    NeighbourTable table(rows, std::min(k, std::max<Index>(0, rows - 1)));
    if (rows > 1) {
      with_sums([&]<int kLanes, class T>() { search<kLanes, T>(table, k, control); });
    }
    parallel_for(rows, 256, [&](Offset rank) { table.sort(static_cast<Index>(rank)); });
    std::vector<Index> rank_of(order_.size());
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      rank_of[static_cast<std::size_t>(order_[rank])] = static_cast<Index>(rank);
    }
    return pack_neighbours(
        rows, [&](Index row) { return table.sorted(rank_of[static_cast<std::size_t>(row)]); });
  }

  void similarities(const WeightedRows& queries, float* out) const override {
    // An outside row's values may not be multiples of what the others are.
    if (lanes_of(formula_.sums) == 1) return compare<1, double>(queries, out);
    if (lanes_of(formula_.sums) == 4) return compare<4, double>(queries, out);
    compare<8, double>(queries, out);
  }

 private:
  static std::vector<Index> by_falling_length(const CsrView& rows) {
    std::vector<Index> order(static_cast<std::size_t>(rows.rows));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order,
                             [&](Index a, Index b) { return rows.row_size(a) > rows.row_size(b); });
    return order;
  }

  /// The entries by column, within a column by rank.
  void sort_by_column() {
    const CsrView& m = rows_.weights;
    column_offsets_ = Array<Offset>(Offset{m.cols} + 1);
    ranks_ = Array<Index>::uninitialized(m.nnz());
    values_ = Array<float>::uninitialized(m.nnz());
    for (Offset e = 0; e < m.nnz(); ++e) ++column_offsets_[m.columns[e] + 1];
    for (Index c = 0; c < m.cols; ++c) column_offsets_[c + 1] += column_offsets_[c];
    Array<Offset> next = column_offsets_.clone();
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      const Index row = order_[rank];
      for (Offset e = m.offsets[row]; e < m.offsets[row + 1]; ++e) {
        const Offset to = next[m.columns[e]]++;
        ranks_[to] = static_cast<Index>(rank);
        values_[to] = m.values[e];
      }
    }
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

  [[nodiscard]] kernels::PairPass pass_over(const CsrView& queries, Index query,
                                            Index limit) const {
    return {queries.columns + queries.offsets[query],
            queries.values + queries.offsets[query],
            queries.row_size(query),
            column_offsets_.data(),
            ranks_.data(),
            values_.data(),
            limit};
  }

  [[nodiscard]] const RowFacts& facts_of(Index rank) const {
    return rows_.facts[static_cast<std::size_t>(order_[static_cast<std::size_t>(rank)])];
  }

  template <int kLanes, class T>
  void search(NeighbourTable& table, Index k, const RunControl& control) const {
    const Index rows = rows_.weights.rows;
    Pool<T> sums(Offset{rows} * kLanes);
    // Thresholds rise between waves only: short ones first, when they rise fastest.
    for (Index begin = 0; begin < rows;) {
      const Index end = begin + std::min(rows - begin, std::clamp<Index>(begin / 4, 256, 4096));
      parallel_blocks(end - begin, 4, [&](Offset first, Offset last, Offset) {
        control.check();
        Array<T> buffer = sums.take();
        std::vector<Offer> offers;
        for (Offset r = first; r < last; ++r) {
          search_row<kLanes>(begin + static_cast<Index>(r), k, buffer.data(), table, offers);
        }
        table.offer(offers);
        sums.give_back(std::move(buffer));
      });
      table.raise_thresholds();
      begin = end;
      control.report("neighbours", begin, rows, "rows");
    }
  }

  /// Compares the row of this rank with all before it. `sums` are 0 before and after.
  template <int kLanes, class T>
  void search_row(Index rank, Index k, T* sums, NeighbourTable& table,
                  std::vector<Offer>& offers) const {
    const Index row = order_[static_cast<std::size_t>(rank)];
    add_pairs<kLanes>(pass_over(rows_.weights, row, rank), sums);
    const RowFacts& x = facts_of(rank);
    const auto thresholds = table.thresholds();
    TopList own;
    own.reset(static_cast<std::size_t>(k));
    for (Index y = 0; y < rank; ++y) {
      const T* const at = sums + Offset{y} * kLanes;
      if (at[0] == T{0}) continue;
      const PairSums s = unpack<kLanes>(at);
      const float to_y = formula_.similarity(x, facts_of(y), s);
      const float to_x =
          formula_.symmetric() ? to_y : formula_.similarity(facts_of(y), x, swapped(s));
      if (to_y != 0.0F) own.offer({to_y, order_[static_cast<std::size_t>(y)]});
      if (to_x == 0.0F || to_x < thresholds[static_cast<std::size_t>(y)]) continue;
      offers.push_back({y, {to_x, row}});
      if (offers.size() == kOffersKept) {
        table.offer(offers);
        offers.clear();
      }
    }
    std::fill_n(sums, Offset{rank} * kLanes, T{0});
    table.offer(rank, own.finish());
  }

  template <int kLanes, class T>
  void compare(const WeightedRows& queries, float* out) const {
    const Index rows = rows_.weights.rows;
    Pool<T> sums(Offset{rows} * kLanes);
    parallel_for(queries.weights.rows, 1, [&](Offset q) {
      Array<T> buffer = sums.take();
      add_pairs<kLanes>(pass_over(queries.weights, static_cast<Index>(q), rows), buffer.data());
      const RowFacts& x = queries.facts[static_cast<std::size_t>(q)];
      float* const to = out + q * rows;
      for (Index y = 0; y < rows; ++y) {
        T* const at = buffer.data() + Offset{y} * kLanes;
        to[order_[static_cast<std::size_t>(y)]] =
            at[0] == T{0} ? 0.0F : formula_.similarity(x, facts_of(y), unpack<kLanes>(at));
        std::fill_n(at, kLanes, T{0});
      }
      sums.give_back(std::move(buffer));
    });
  }

  const PairFormula& formula_;
  WeightedRows rows_;
  bool in_float_;
  std::vector<Index> order_;  ///< rank -> row
  Array<Offset> column_offsets_;
  Array<Index> ranks_;
  Array<float> values_;
};

}  // namespace

std::unique_ptr<NeighbourSearch> make_cpu_neighbour_search(const SimilarityProblem& problem) {
  return std::make_unique<CpuNeighbourSearch>(problem);
}

}  // namespace likewise
