// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/cpu/top_k/top_k_search.h"
#include "core/linalg/exact_dot.h"
#include "core/system/instruction_set.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

/// Counts finished queries and passes them on, one thread at a time.
class Progress {
 public:
  Progress(const RunControl& control, Offset total) : control_(control), total_(total) {}
  void add(Offset queries) {
    if (!control_.on_progress) return;
    const std::lock_guard lock(mutex_);
    done_ += queries;
    control_.report("score", done_, total_, "queries");
  }

 private:
  const RunControl& control_;
  Offset total_;
  Offset done_ = 0;
  std::mutex mutex_;
};

/// Of distances. Throws Error(kInvalidArgument) for a number that is not finite.
std::vector<float> finite_centre_of(const MatrixView& items) {
  for (Index i = 0; i < items.rows; ++i) {
    const auto row = items.row_span(i);
    const auto bad = std::ranges::find_if_not(row, [](float x) { return std::isfinite(x); });
    if (bad == row.end()) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("item {} has the factor {} in column {}, which is not finite", i, *bad,
                            bad - row.begin()));
  }
  return centre_of(items);
}

class CpuScorer final : public Scorer {
 public:
  CpuScorer(const MatrixView& items, std::span<const float> item_bias, ScoreKind score,
            const CpuScorerOptions& options)
      : options_(options),
        centre_(score == ScoreKind::kDot ? std::vector<float>() : finite_centre_of(items)),
        table_(make_table(items, item_bias, score,
                          packing_order(CentredRows(items, centre_), item_bias, score))) {}

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(table_.items, queries, k, filter);
    check_top_k_numbers(table_.items, queries, filter);
    TopKResult result = make_top_k_result(queries.rows, k, table_.items.rows);
    if (result.k == 0 || queries.rows == 0) return result;
    const std::optional<ItemTable> part = allowed_table(filter.allowed);
    const ItemTable& table = part ? *part : table_;
    const TopKTask task{table,
                        queries,
                        filter,
                        query_order(table, queries),
                        open_places(*table.panels, filter.allowed),
                        options_.counts};
    const bool dense = result.k > table_.items.rows / kDenseShare;
    Progress progress(control, queries.rows);
    parallel_blocks(
        queries.rows, dense ? 1 : TopKSearch::kQueries, [&](Offset begin, Offset end, Offset) {
          control.check();
          const auto first = static_cast<Index>(begin);
          if (dense) {
            sort_all(task, first, result);
          } else {
            TopKSearch(task, first, static_cast<Index>(end - begin), result.k).run(result);
          }
          progress.add(end - begin);
        });
    return result;
  }

  void score_all(const MatrixView& queries, float* out) const override {
    check_query_width(table_.items, queries);
    for (Index q = 0; q < queries.rows; ++q) {
      float* row = out + Offset{q} * table_.items.rows;
      parallel_blocks(table_.items.rows, kItemBlock, [&](Offset begin, Offset end, Offset) {
        score_items(queries.row(q), static_cast<Index>(begin), static_cast<Index>(end), row);
      });
    }
  }

 private:
  /// With k above this share of the catalogue nothing can be skipped: score and sort everything.
  static constexpr Index kDenseShare = 8;
  static constexpr Index kItemBlock = 1024;

  void score_items(const float* query, Index begin, Index end, float* out) const {
    const MatrixView& items = table_.items;
    const bool distances = table_.score == ScoreKind::kSquaredDistance;
    const auto score = distances ? kernels::exact_squared_distances : kernels::exact_dots;
    double scores[kItemBlock];
    score(query, items.row(begin), items.stride, padded_stride(items.cols), end - begin, scores);
    for (Index i = begin; i < end; ++i) out[i] = exact_score(table_, i, scores[i - begin]);
  }

  [[nodiscard]] ItemTable make_table(const MatrixView& items, std::span<const float> item_bias,
                                     ScoreKind score, std::vector<Index> order) const {
    const CentredRows seen(items, centre_);
    auto panels = std::make_unique<const ItemPanels>(seen, item_bias, score, std::move(order));
    auto estimates = make_estimate_table(seen, *panels, options_.estimates);
    return {items, item_bias, score, centre_, std::move(panels), std::move(estimates)};
  }

  /// A table of its own for a short allow list; from a long one the mask takes hits away.
  [[nodiscard]] std::optional<ItemTable> allowed_table(
      std::span<const std::uint8_t> allowed) const {
    if (allowed.empty()) return std::nullopt;
    const auto count = std::count_if(allowed.begin(), allowed.end(), [](auto a) { return a != 0; });
    if (count > table_.items.rows / 2) return std::nullopt;
    std::vector<Index> order;
    order.reserve(static_cast<std::size_t>(count));
    for (const Index item : table_.panels->order()) {
      if (allowed[static_cast<std::size_t>(item)] != 0) order.push_back(item);
    }
    return make_table(table_.items, table_.item_bias, table_.score, std::move(order));
  }

  void sort_all(const TopKTask& task, Index q, TopKResult& result) const {
    std::vector<float> scores(static_cast<std::size_t>(task.table.items.rows));
    for (Index i = 0; i < task.table.items.rows; i += kItemBlock) {
      score_items(task.queries.row(q), i, std::min(i + kItemBlock, task.table.items.rows),
                  scores.data());
    }
    const auto& filter = task.filter;
    std::span<const Index> excluded;
    if (filter.excluded.rows > 0) excluded = filter.excluded.row_columns(q);
    std::vector<Candidate> all;
    all.reserve(static_cast<std::size_t>(task.table.panels->size()));
    auto next = excluded.begin();
    for (Index i = 0; i < task.table.items.rows; ++i) {
      while (next != excluded.end() && *next < i) ++next;
      if (next != excluded.end() && *next == i) continue;
      if (!filter.allowed.empty() && filter.allowed[static_cast<std::size_t>(i)] == 0) continue;
      all.push_back({scores[static_cast<std::size_t>(i)], i});
    }
    const auto kept = std::min(all.size(), static_cast<std::size_t>(result.k));
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                      before);
    all.resize(kept);
    write_answer(all, q, result);
  }

  CpuScorerOptions options_;
  std::vector<float> centre_;
  ItemTable table_;
};

}  // namespace

std::unique_ptr<Scorer> make_cpu_scorer(const MatrixView& items, std::span<const float> item_bias,
                                        ScoreKind score, const CpuScorerOptions& options) {
  check_item_table(items, item_bias, score);
  (void)chosen_target();  // applies LIKEWISE_ISA before the first kernel runs
  return std::make_unique<CpuScorer>(items, item_bias, score, options);
}

}  // namespace likewise
