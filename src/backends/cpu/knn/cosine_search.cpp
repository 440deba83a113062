// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/cosine_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/cosine_pairs.h"
#include "backends/cpu/kernels/dense_tile.h"
#include "backends/cpu/knn/dense_rows.h"
#include "backends/cpu/knn/estimate_lists.h"
#include "backends/distributed/partition.h"
#include "core/system/parallel.h"
#include "retrieval/knn_lists.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace {

using kernels::kDots;
using kernels::kPackedRows;
using kernels::kTileRows;
constexpr Index kTileWidth = kernels::kTileColumns<float>;

/// Columns of a part of a sum. They and a tile stay in the L1 cache.
constexpr Index kGemmDepth = 128;
/// Rows that share a task; with the estimates they make they stay in the L2 cache.
constexpr Index kTaskRows = 64;
/// Rows y that are compared with all others at once, in tiles, and their estimates.
constexpr Index kPanelTiles = 10;
constexpr Offset kPanelEstimates = Offset{1} << 24;
/// A single pair in double precision takes as long as this many in a float32 tile.
constexpr Index kPairsOfScore = 8;
/// Of all rows, at most one in so many is compared with all others in double precision.
constexpr Offset kOpenPart = 8;
/// Stands for 1 / 0: estimates that it makes reach no threshold.
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
/// Panels of few rows: pairs within a panel are met twice.
constexpr Index kPanels = 8;
/// Numbers of all rows in a group of columns, which stays in the L2 cache.
constexpr Offset kGroupNumbers = Offset{1} << 18;

[[nodiscard]] constexpr Index parts_of(Index count, Index part) {
  return (count + part - 1) / part;
}
template <class Number>
[[nodiscard]] constexpr Number rounded_up(Number count, Number unit) {
  return (count + unit - 1) / unit * unit;
}

/// Pairs of one row with others, in groups of kDots.
class PairDots {
 public:
  PairDots(const DenseRows& rows, Index x, std::span<const Candidate> others)
      : rows_(rows), x_(rows[x]), others_(others) {}

  [[nodiscard]] static Offset room(std::size_t others) {
    return rounded_up<Offset>(static_cast<Offset>(others), kDots);
  }

  /// Adds the products of columns [begin, begin + count) to room(others) sums.
  void add(Index begin, Index count, double* sums) const {
    const float* at[kDots];
    for (std::size_t first = 0; first < others_.size(); first += kDots) {
      for (std::size_t i = 0; i < kDots; ++i) {
        at[i] = rows_[others_[std::min(first + i, others_.size() - 1)].item] + begin;
      }
      kernels::add_dots(x_ + begin, at, count, sums + first);
    }
  }

 private:
  const DenseRows& rows_;
  const float* x_;
  std::span<const Candidate> others_;
};

class CosineSearch {
 public:
  CosineSearch(const WeightedRows& rows, const PairFormula& formula, Index k,
               const RunControl& control)
      : count_(rows.weights.rows),
        cols_(rows.weights.cols),
        stats_(rows.stats),
        formula_(formula),
        control_(control),
        k_(k),
        sparse_(rows.weights),
        rows_(rows.weights),
        factors_(static_cast<std::size_t>(count_)),
        width_(panel_width(count_)),
        panel_(Array<float>::uninitialized(Offset{width_} * cols_)),
        estimates_(Array<float>::uninitialized(Offset{rounded_up(count_, kTileRows)} * width_)),
        lists_(count_, k, lowest(), static_cast<float>(bound_of_estimates(cols_))) {
    for (Index row = 0; row < count_; ++row) {
      const double norm = stats_[static_cast<std::size_t>(row)].norm;
      factors_[static_cast<std::size_t>(row)] = norm > 0.0 ? static_cast<float>(1.0 / norm) : kNone;
    }
  }

  [[nodiscard]] std::optional<KnnLists> find(const SearchPart& part) {
    const Partition panels = cut_equally(parts_of(count_, width_), part.of, [&](Index panel) {
      return static_cast<double>(count_ - panel * width_);  // rows that it is compared with
    });
    const Index from = panels.first(part.number) * width_;
    const Index to = std::min(panels.end(part.number) * width_, count_);
    for (Index first = from; first < to; first += width_) {
      const Index width = std::min(width_, count_ - first);
      pack(first, width);
      compare(first, width);
      if (kOpenPart * open_rows() > count_) return std::nullopt;
      control_.report("neighbours", first + width - from, to - from, "rows");
    }
    std::vector<std::span<const Candidate>> lists(factors_.size());
    parallel_blocks(count_, std::clamp<Index>(count_ / 8, 16, 1024),
                    [&](Offset begin, Offset end, Offset) {
                      control_.check();
                      finish(static_cast<Index>(begin), static_cast<Index>(end), lists.data());
                    });
    return pack_knn_lists(count_, [&](Index row) { return lists[static_cast<std::size_t>(row)]; });
  }

 private:
  [[nodiscard]] static Index panel_width(Index rows) {
    const Offset fit = kPanelEstimates / std::max<Index>(1, rows) / kTileWidth;
    const auto most = static_cast<Index>(std::clamp<Offset>(fit, 1, kPanelTiles));
    return std::clamp(rows / kPanels / kTileWidth, 1, most) * kTileWidth;
  }

  /// Rows whose candidates estimates do not tell apart.
  [[nodiscard]] Index open_rows() const {
    Index open = 0;
    for (Index row = 0; row < count_; ++row) open += lists_.overflowed(row) ? 1 : 0;
    return open;
  }

  [[nodiscard]] float lowest() const {
    return formula_.keep_negative ? std::numeric_limits<float>::lowest()
                                  : static_cast<float>(-bound_of_estimates(cols_));
  }

  /// Rows y of a panel over their norms, in tiles, a tile column by column.
  void pack(Index first, Index width) {
    const Index depths = parts_of(cols_, kGemmDepth);
    parallel_for(Offset{parts_of(width, kTileWidth)} * depths, 4, [&](Offset part) {
      const auto tile = static_cast<Index>(part / depths) * kTileWidth;
      const auto begin = static_cast<Index>(part % depths) * kGemmDepth;
      const Index depth = std::min(kGemmDepth, cols_ - begin);
      float* const packed = panel_.data() + Offset{tile} * cols_ + Offset{begin} * kTileWidth;
      for (Index i = 0; i < kTileWidth; i += kPackedRows) {
        const float* from[kPackedRows];
        float factors[kPackedRows];
        for (Index r = 0; r < kPackedRows; ++r) {
          const Index y = tile + i + r;
          const Index row = first + std::min(y, width - 1);
          from[r] = rows_[row] + begin;
          factors[r] = y < width ? factors_[static_cast<std::size_t>(row)] : kNone;
        }
        kernels::pack_rows(from, factors, depth, packed + i);
      }
    });
  }

  /// Rows of a panel with one another and with all after it, in both directions.
  void compare(Index first, Index width) {
    parallel_blocks(count_ - first, task_rows(), [&](Offset begin, Offset end, Offset) {
      control_.check();
      multiply(first, width, static_cast<Index>(begin), static_cast<Index>(end));
      offer_to_rows(first, width, static_cast<Index>(begin), static_cast<Index>(end));
    });
    parallel_blocks(width, kOfferedAtOnce, [&](Offset begin, Offset end, Offset) {
      offer_to_panel(first, width, static_cast<Index>(begin), static_cast<Index>(end));
    });
  }

  [[nodiscard]] Index task_rows() const {
    return std::clamp(rounded_up(count_ / 32, kTileRows), kTileRows, kTaskRows);
  }

  /// Products of rows first + [begin, end) with those of the panel.
  void multiply(Index first, Index width, Index begin, Index end) {
    const float* at[kTaskRows];
    const Index rows = rounded_up(end - begin, kTileRows);
    for (Index k = 0; k < cols_; k += kGemmDepth) {
      for (Index r = 0; r < rows; ++r) at[r] = rows_[first + std::min(begin + r, end - 1)] + k;
      for (Index y = 0; y < width; y += kTileWidth) {
        const float* const tile = panel_.data() + Offset{y} * cols_ + Offset{k} * kTileWidth;
        for (Index r = 0; r < rows; r += kTileRows) {
          kernels::multiply_rows(at + r, tile, std::min(kGemmDepth, cols_ - k),
                                 estimates_.data() + Offset{begin + r} * width_ + y, width_, k > 0);
        }
      }
    }
  }

  /// Makes estimates of the products, and offers the rows of the panel to rows first + [begin,
  /// end).
  void offer_to_rows(Index first, Index width, Index begin, Index end) {
    std::vector<Index> hits(static_cast<std::size_t>(width_ + 16));
    for (Index r = begin; r < end; ++r) {
      const Index x = first + r;
      float* const estimates = estimates_.data() + Offset{r} * width_;
      const auto row = static_cast<std::size_t>(x);
      const Index found = kernels::scale_and_find(estimates, rounded_up(width, 16), factors_[row],
                                                  lists_.thresholds()[row], hits.data());
      for (Index h = 0; h < found; ++h) {
        const Index y = hits[static_cast<std::size_t>(h)];
        if (y != r) lists_.offer(x, {estimates[y], first + y});
      }
    }
  }

  /// Offers all rows after the panel to rows first + [begin, end) of it.
  void offer_to_panel(Index first, Index width, Index begin, Index end) {
    Index hits[kOfferedAtOnce + 16];
    float thresholds[kOfferedAtOnce] = {};
    const float* const now = lists_.thresholds().data() + first + begin;
    std::copy_n(now, end - begin, thresholds);
    for (Index r = width; first + r < count_; ++r) {
      const float* const estimates = estimates_.data() + Offset{r} * width_ + begin;
      const Index found = kernels::find_reaching(estimates, thresholds, kOfferedAtOnce, hits);
      for (Index h = 0; h < found; ++h) {
        lists_.offer(first + begin + hits[h], {estimates[hits[h]], first + r});
        thresholds[hits[h]] = now[hits[h]];
      }
    }
  }

  /// The lists of rows [begin, end), in the place of their candidates.
  void finish(Index begin, Index end, std::span<const Candidate>* lists) {
    std::vector<std::span<Candidate>> candidates;
    std::vector<Offset> starts{0};
    for (Index x = begin; x < end; ++x) {
      candidates.push_back(lists_.finish(x));
      starts.push_back(starts.back() + PairDots::room(candidates.back().size()));
    }
    std::vector<double> sums(static_cast<std::size_t>(starts.back()));
    const auto columns = static_cast<Index>(
        std::clamp<Offset>(kGroupNumbers / count_, kGemmDepth, std::max(kGemmDepth, cols_)));
    for (Index k = 0; k < cols_; k += columns) {
      for (Index r = 0; r < end - begin; ++r) {
        const auto at = static_cast<std::size_t>(r);
        PairDots(rows_, begin + r, candidates[at])
            .add(k, std::min(columns, cols_ - k), sums.data() + starts[at]);
      }
    }
    for (Index r = 0; r < end - begin; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const Index x = begin + r;
      lists[x] = lists_.overflowed(x) ? best_of_all(x, candidates[at].data())
                                      : best(x, candidates[at], sums.data() + starts[at]);
    }
  }

  /// Scores the candidates and sorts the k best, in their place.
  [[nodiscard]] std::span<const Candidate> best(Index x, std::span<Candidate> candidates,
                                                const double* sums) const {
    Offset count = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Index y = candidates[i].item;
      const float score = similarity(x, y, sums[i]);
      if (score != 0.0F) candidates[static_cast<std::size_t>(count++)] = {score, y};
    }
    return candidates.first(sort_nearest(sparse_.row_columns(x), sparse_,
                                         static_cast<std::size_t>(k_),
                                         candidates.first(static_cast<std::size_t>(count))));
  }

  /// For a row that is open. `to`: room for k.
  [[nodiscard]] std::span<const Candidate> best_of_all(Index x, Candidate* to) const {
    std::vector<Candidate> all;
    for (Index y = 0; y < count_; ++y) {
      if (y != x) all.push_back({0.0F, y});
    }
    std::vector<double> sums(static_cast<std::size_t>(PairDots::room(all.size())));
    PairDots(rows_, x, all).add(0, cols_, sums.data());
    const auto found = best(x, all, sums.data());
    std::ranges::copy(found, to);
    return {to, found.size()};
  }

  /// From a sum in any order. Two orders differ by less than n 2^-51 |x| |y|; where that is enough
  /// for another float32, the sum is made again in the order of the columns.
  [[nodiscard]] float similarity(Index x, Index y, double sum) const {
    const RowStats& fx = stats_[static_cast<std::size_t>(x)];
    const RowStats& fy = stats_[static_cast<std::size_t>(y)];
    const double error = cols_ * 0x1p-51 * fx.norm * fy.norm;
    const float low = formula_.similarity(fx, fy, {.xy = sum - error});
    if (low == formula_.similarity(fx, fy, {.xy = sum + error})) return low;
    const float* const a = rows_[x];
    const float* const b = rows_[y];
    double in_order = 0.0;
    for (Index k = 0; k < cols_; ++k) in_order += double{a[k]} * double{b[k]};
    return formula_.similarity(fx, fy, {.xy = in_order});
  }

  /// Rows of a panel that share a task.
  static constexpr Index kOfferedAtOnce = 16;

  Index count_;
  Index cols_;
  std::span<const RowStats> stats_;
  const PairFormula& formula_;
  const RunControl& control_;
  Index k_;
  const CsrView& sparse_;
  DenseRows rows_;
  std::vector<float> factors_;  ///< 1 / |x|, or kNone
  Index width_;                 ///< of a panel
  Array<float> panel_;
  Array<float> estimates_;  ///< rows from the panel's first one on, times width_
  EstimateLists lists_;
};

}  // namespace

bool can_estimate(const PairFormula& formula, std::span<const RowStats> stats) {
  return formula.form == PairForm::kCosine && formula.sums == SumsNeeded::kProducts &&
         formula.amplification == 1.0 && formula.estimates &&
         std::ranges::all_of(stats, [](const RowStats& row) {
           return row.norm == 0.0 || (row.norm > 0x1p-60 && row.norm < 0x1p100);
         });
}

bool estimates_pay(Index rows, Index k) { return k <= rows / kPairsOfScore; }

double bound_of_estimates(Index cols) {
  const double m = kGemmDepth + parts_of(cols, kGemmDepth) + 6;
  return m / (0x1p24 - m);
}

std::optional<KnnLists> find_by_estimates(const WeightedRows& rows, const PairFormula& formula,
                                          Index k, const RunControl& control,
                                          const SearchPart& part) {
  return CosineSearch(rows, formula, k, control).find(part);
}

}  // namespace likewise
