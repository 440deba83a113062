// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "likewise/recommender.h"

namespace likewise {

/// Walks over the cells of a matrix that hold nothing, a bounded block of rows at a time.
class MissingCells {
 public:
  /// `known` has a row for each that will be asked for, or none.
  MissingCells(const CsrView& known, Index cols) : known_(known), cols_(cols) {}

  /// For each block of rows: fill(rows, out) with rows.size() x cols scores, which returns the
  /// seconds that similarities took; then take() for every row, while the next block is made.
  template <class Fill>
  PredictionTimes for_rows(Side side, Index rows, const RunControl& control, const Fill& fill,
                           const TakeMissing& take) const {
    const Index most =
        static_cast<Index>(std::clamp<Offset>(kBlockNumbers / std::max<Index>(1, cols_), 1, 1024));
    PredictionTimes times;
    Block made;
    Block next;
    const auto make_next = [&] {
      if (next.rows.empty()) return;
      double similarities = 0.0;
      const double all = seconds_of(
          [&] { similarities = fill(std::span<const Index>(next.rows), next.scores.data()); });
      times.similarities += similarities;
      times.predictions += all - similarities;
    };
    const auto take_made = [&] {
      times.output += seconds_of([&] {
        for (std::size_t r = 0; r < made.rows.size(); ++r) take_row(side, made, r, take);
      });
    };
    Index first = 0;
    do {
      control.check();
      next.rows.resize(static_cast<std::size_t>(std::min(most, rows - first)));
      std::iota(next.rows.begin(), next.rows.end(), first);
      next.scores.resize(next.rows.size() * static_cast<std::size_t>(cols_));
      parallel_for(2, 1, [&](Offset half) { half == 0 ? take_made() : make_next(); });
      first += static_cast<Index>(next.rows.size());
      std::swap(made, next);
      if (!made.rows.empty()) control.report("predict", first, rows, side_name(side));
    } while (!made.rows.empty());
    return times;
  }

 private:
  static constexpr Offset kBlockNumbers = Offset{1} << 22;

  struct Block {
    std::vector<Index> rows;
    std::vector<float> scores;  ///< rows x cols
  };

  void take_row(Side side, const Block& block, std::size_t r, const TakeMissing& take) const {
    const Index row = block.rows[r];
    const auto cols = static_cast<std::size_t>(cols_);
    const std::span<const float> scores = std::span(block.scores).subspan(r * cols, cols);
    std::vector<Index> others;
    std::vector<float> predictions;
    std::span<const Index> known;
    if (known_.rows > 0) known = known_.row_columns(row);
    auto next = known.begin();
    for (Index other = 0; other < cols_; ++other) {
      if (next != known.end() && *next == other) {
        ++next;
        continue;
      }
      others.push_back(other);
      predictions.push_back(scores[static_cast<std::size_t>(other)]);
    }
    take(side, row, others, predictions);
  }

  CsrView known_;
  Index cols_;
};

}  // namespace likewise
