// SPDX-License-Identifier: Apache-2.0
/// The job `neighbours`: which rows are similar, and how much. The problem and its formulas:
/// src/algorithms/neighbours/similarity.h; what every device is tested against:
/// src/backends/reference/neighbourhood.cpp. All devices give the same similarities to the bit.
#pragma once

#include <memory>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/neighbourhood.h"

namespace likewise {

class SimilarityProblem;
struct WeightedRows;

/// Compares the rows of a similarity problem with each other and with rows from outside.
/// Thread-safe after construction. Never holds rows x rows numbers.
class NeighbourSearch {
 public:
  virtual ~NeighbourSearch() = default;
  /// The k nearest of every row (k >= 0 may exceed the number of rows), most similar first, ties to
  /// the smaller row. Errors: kCancelled, kOutOfMemory, kDevice.
  [[nodiscard]] virtual Neighbours find(Index k, const RunControl& control) const = 0;
  /// How similar every row of the problem is to each of `queries`, which may be outside rows with
  /// the problem's columns: `out` is queries x rows, row-major without padding; 0 where two are no
  /// neighbours. A row of the problem that is asked about meets itself like any other.
  virtual void similarities(const WeightedRows& queries, float* out) const = 0;
};

/// Finds neighbours. Thread-safe.
class NeighbourJob {
 public:
  static constexpr Job kJob = Job::kNeighbours;

  virtual ~NeighbourJob() = default;
  /// `problem` must outlive the search. Errors: kOutOfMemory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<NeighbourSearch> make_search(
      const SimilarityProblem& problem) const = 0;
};

}  // namespace likewise
