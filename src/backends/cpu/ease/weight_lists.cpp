// SPDX-License-Identifier: Apache-2.0
/// A panel is kHalfColumns columns of the weights in float16: small enough to stay in a cache while
/// all histories pass. What a score and its estimate differ by is bounded, so a list is right where
/// its last exact score is above all that the items left out can score; the others are left open.
#include "backends/cpu/ease/weight_lists.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/linalg/half_kernels.h"
#include "core/system/parallel.h"
#include "retrieval/top_list.h"

namespace likewise {
namespace {

using kernels::kHalfColumns;

/// Histories of fewer entries for an item are not worth the way of all weights into panels.
constexpr Offset kReads = 4;
constexpr Offset kHistories = 64;  ///< of a task
/// Weights are multiplied by it on their way into float16, whose smallest normal number is 2^-14.
constexpr float kScale = 16.0F;
constexpr float kLargestHalf = 65504.0F;
/// Sums of larger sizes may not be finite in float32.
constexpr double kLargestSum = 1e37;
/// More than what all products and scaled values lose that are too small for float32.
constexpr double kUnderflow = 1e-35;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Items that are kept by their estimates for a list of k.
[[nodiscard]] std::size_t kept_for(Index k) {
  return static_cast<std::size_t>(k) + static_cast<std::size_t>(k) / 4 + 8;
}

class CpuWeightLists final : public WeightLists {
 public:
  explicit CpuWeightLists(const MatrixView& weights) : weights_(weights) {}
  [[nodiscard]] TopKResult top_k(const CsrView& histories, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override;

 private:
  MatrixView weights_;
};

/// One call.
class WeightSearch {
 public:
  WeightSearch(const MatrixView& weights, const CsrView& histories, const TopKFilter& filter,
               TopKResult& result);
  void run(const RunControl& control);

 private:
  void pack(Index first);
  void estimate(Index first);
  void decide(Index history);
  [[nodiscard]] double largest_error(Index history) const;
  [[nodiscard]] std::vector<Candidate> scored(Index history, std::span<const Candidate> kept) const;

  const MatrixView& weights_;
  const CsrView& histories_;
  const TopKFilter& filter_;
  TopKResult& result_;
  Array<float> scaled_;         ///< values of the histories over kScale
  Array<std::uint16_t> panel_;  ///< items x kHalfColumns
  std::vector<float> largest_;  ///< the largest size of a weight in each row of the panels so far
  std::vector<TopList> lists_;  ///< by estimates
  std::vector<float> bars_;     ///< of the lists
};

WeightSearch::WeightSearch(const MatrixView& weights, const CsrView& histories,
                           const TopKFilter& filter, TopKResult& result)
    : weights_(weights),
      histories_(histories),
      filter_(filter),
      result_(result),
      scaled_(Array<float>::uninitialized(histories.nnz())),
      panel_(Offset{weights.rows} * kHalfColumns),
      largest_(static_cast<std::size_t>(weights.rows)),
      lists_(static_cast<std::size_t>(histories.rows)),
      bars_(lists_.size(), std::numeric_limits<float>::quiet_NaN()) {
  std::transform(histories.values, histories.values + histories.nnz(), scaled_.begin(),
                 [](float value) { return value / kScale; });
  for (TopList& list : lists_) list.reset(kept_for(result.k));
}

void WeightSearch::run(const RunControl& control) {
  for (Index first = 0; first < weights_.cols; first += kHalfColumns) {
    control.check();
    pack(first);
    estimate(first);
  }
  control.check();
  parallel_for(histories_.rows, kHistories,
               [&](Offset history) { decide(static_cast<Index>(history)); });
}

void WeightSearch::pack(Index first) {
  constexpr Offset kRows = 256;
  parallel_blocks(weights_.rows, kRows, [&](Offset begin, Offset end, Offset) {
    kernels::pack_halves(weights_, first, static_cast<Index>(begin), static_cast<Index>(end),
                         kScale, panel_.data(), largest_.data());
  });
}

void WeightSearch::estimate(Index first) {
  const auto count = static_cast<std::size_t>(std::min(kHalfColumns, weights_.cols - first));
  const std::span<const Index> all(histories_.columns, static_cast<std::size_t>(histories_.nnz()));
  parallel_blocks(histories_.rows, kHistories, [&](Offset begin, Offset end, Offset) {
    alignas(64) float estimates[kHalfColumns];
    for (Offset history = begin; history < end; ++history) {
      const Offset from = histories_.offsets[history];
      const float best = kernels::sum_half_rows(all.subspan(static_cast<std::size_t>(from)),
                                                histories_.offsets[history + 1] - from,
                                                scaled_.data() + from, panel_.data(), estimates);
      const auto h = static_cast<std::size_t>(history);
      if (best <= bars_[h]) continue;
      offer_scores(std::span(estimates).first(count), first, static_cast<Index>(history), filter_,
                   lists_[h]);
      bars_[h] = bar_of(lists_[h]);
    }
  });
}

/// What the score of an item and its estimate differ by at most; infinite where a number is too
/// large to say.
double WeightSearch::largest_error(Index history) const {
  double size = 0.0;
  double values = 0.0;
  const auto items = histories_.row_columns(history);
  for (std::size_t e = 0; e < items.size(); ++e) {
    const double value = std::abs(double{histories_.row_values(history)[e]});
    const float largest = largest_[static_cast<std::size_t>(items[e])];
    if (largest * kScale > kLargestHalf) return kInfinite;
    size += value * double{largest};
    values += value;
  }
  if (!(size <= kLargestSum)) return kInfinite;
  // A weight in float16, the sum and the score in float32: each to half a unit of its last place.
  const double roundings = 0x1p-11 + static_cast<double>(items.size() + 4) * 0x1p-23;
  return 1.01 * (size * roundings + values * 0x1p-25 / kScale) + kUnderflow;
}

std::vector<Candidate> WeightSearch::scored(Index history, std::span<const Candidate> kept) const {
  std::vector<double> sums(kept.size());
  const auto items = histories_.row_columns(history);
  for (std::size_t e = 0; e < items.size(); ++e) {
    const double value = histories_.row_values(history)[e];
    const float* const weights = weights_.row(items[e]);
    for (std::size_t c = 0; c < kept.size(); ++c) sums[c] += value * double{weights[kept[c].item]};
  }
  std::vector<Candidate> result(kept.size());
  for (std::size_t c = 0; c < kept.size(); ++c) {
    result[c] = {static_cast<float>(sums[c]), kept[c].item};
  }
  std::ranges::sort(result, before);
  return result;
}

void WeightSearch::decide(Index history) {
  TopList& list = lists_[static_cast<std::size_t>(history)];
  const bool all_kept = !list.full();
  const std::span<const Candidate> kept = list.finish();
  const double error = largest_error(history);
  const std::vector<Candidate> best = scored(history, kept);
  const std::size_t k = std::min(best.size(), static_cast<std::size_t>(result_.k));
  const bool decided = error < kInfinite &&
                       (all_kept || double{best[k - 1].score} > double{kept.back().score} + error);
  if (decided) {
    write_answer(std::span(best).first(k), history, result_);
  } else {
    result_.counts[history] = WeightLists::kUndecided;
  }
}

TopKResult CpuWeightLists::top_k(const CsrView& histories, Index k, const TopKFilter& filter,
                                 const RunControl& control) const {
  check_top_k(weights_, {nullptr, histories.rows, histories.cols, histories.cols}, k, filter);
  TopKResult result = make_top_k_result(histories.rows, k, weights_.cols);
  if (result.k == 0) return result;
  if (histories.nnz() < kReads * Offset{weights_.cols}) {
    std::ranges::fill(result.counts, kUndecided);
  } else {
    WeightSearch(weights_, histories, filter, result).run(control);
  }
  return result;
}

}  // namespace

std::unique_ptr<WeightLists> make_cpu_weight_lists(const MatrixView& weights) {
  return std::make_unique<CpuWeightLists>(weights);
}

}  // namespace likewise
