// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <vector>

#include "likewise/recommender.h"

namespace likewise {

/// Walks over the cells of a matrix that hold nothing, a bounded block of rows at a time.
class MissingCells {
 public:
  /// `known` has a row for each that will be asked for, or none.
  MissingCells(const CsrView& known, Index cols) : known_(known), cols_(cols) {}

  /// For each block of rows: prepare(rows), fill(rows, out) with rows.size() x cols scores, then
  /// take() for every row.
  template <class Prepare, class Fill>
  PredictionTimes for_rows(Side side, Index rows, const RunControl& control, const Prepare& prepare,
                           const Fill& fill, const TakeMissing& take) const {
    const Index most =
        static_cast<Index>(std::clamp<Offset>(kBlockNumbers / std::max<Index>(1, cols_), 1, 1024));
    PredictionTimes times;
    std::vector<Index> block;
    std::vector<float> scores;
    for (Index first = 0; first < rows; first += static_cast<Index>(block.size())) {
      control.check();
      block.resize(static_cast<std::size_t>(std::min(most, rows - first)));
      std::iota(block.begin(), block.end(), first);
      scores.resize(block.size() * static_cast<std::size_t>(cols_));
      times.similarities += seconds_of([&] { prepare(std::span<const Index>(block)); });
      times.predictions += seconds_of([&] { fill(std::span<const Index>(block), scores.data()); });
      times.output += seconds_of([&] {
        for (std::size_t r = 0; r < block.size(); ++r) {
          take_row(side, block[r],
                   std::span(scores).subspan(r * static_cast<std::size_t>(cols_),
                                             static_cast<std::size_t>(cols_)),
                   take);
        }
      });
      control.report("predict", first + std::ssize(block), rows, side_name(side));
    }
    return times;
  }

  template <class Work>
  static double seconds_of(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  static constexpr Offset kBlockNumbers = Offset{1} << 22;

  void take_row(Side side, Index row, std::span<const float> scores,
                const TakeMissing& take) const {
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
