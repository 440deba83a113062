// SPDX-License-Identifier: Apache-2.0
/// The job `neighbours`: which rows are similar, and how much. The problem and its formulas:
/// src/algorithms/knn/similarity.h; what every device is tested against:
/// src/backends/reference/knn.cpp. All devices give bit-identical similarities.
#pragma once

#include <memory>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/knn.h"

namespace likewise {

class SimilarityProblem;
struct WeightedRows;

/// One of so many parts of a search, all of about the same cost.
struct SearchPart {
  int number = 0;
  int of = 1;
};

/// Compares the rows of a similarity problem with each other and with rows from outside.
/// Thread-safe after construction. Never holds rows x rows numbers.
class KnnSearch {
 public:
  virtual ~KnnSearch() = default;
  /// The k nearest of every row (k >= 0 may exceed the number of rows), in the order of
  /// src/retrieval/nearest_rows.h. Errors: kCancelled, kOutOfMemory, kDevice.
  [[nodiscard]] KnnLists find(Index k, const RunControl& control) const {
    return find_part({}, k, control);
  }
  /// What a part of the search finds: of each row the k nearest of those that it was compared with.
  /// A row meets every other one in one part at least, whichever searches of the backend in a
  /// process do the parts, on devices of one kind; so the k nearest of all parts are find()'s.
  [[nodiscard]] virtual KnnLists find_part(const SearchPart& part, Index k,
                                           const RunControl& control) const = 0;
  /// How similar every row of the problem is to each of `queries`, which may be outside rows with
  /// the problem's columns: `out` is queries x rows, row-major without padding; 0 where two are no
  /// neighbours. A row of the problem that is asked about meets itself like any other.
  virtual void similarities(const WeightedRows& queries, float* out) const = 0;
};

/// Finds neighbours. Thread-safe.
class KnnJob {
 public:
  static constexpr Job kJob = Job::kKnn;

  virtual ~KnnJob() = default;
  /// `problem` must outlive the search. Errors: kOutOfMemory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<KnnSearch> make_search(
      const SimilarityProblem& problem) const = 0;
};

}  // namespace likewise
