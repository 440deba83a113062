// SPDX-License-Identifier: Apache-2.0
/// `FactorSearch`: the rows of a table of factors that go best with query vectors, exactly, for
/// whoever holds factors of their own. Models are asked by a Recommender.
#pragma once

#include <memory>
#include <span>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "likewise/recommender.h"
#include "likewise/top_k.h"

namespace likewise {

struct FactorSearchOptions {
  Index n = 10;                    ///< answers per query, >= 1
  std::span<const Index> allow{};  ///< if not empty: only these rows of the table
  std::span<const Index> deny{};   ///< never these
  /// Not null: row q lists, rising, what query q must not get; as many columns as the table has
  /// rows. Its values are not looked at.
  const CsrView* excluded = nullptr;
};

/// Thread-safe after construction.
class FactorSearch {
 public:
  /// Scores are query . row + bias (kDot), or without `bias` the cosine of query and row (kCosine;
  /// 0 where one of the two is all zeros) or their distance, of which the smallest are the best:
  /// sqrt(sum (q - y)^2) (kEuclidean) or sum (sqrt q - sqrt y)^2 (kHellinger). Distances are
  /// ordered by their squares (kHellinger: by themselves, of roots in float32), which are summed in
  /// double precision and rounded once to float32: math.md, "Distances". `bias` is empty or
  /// one number per row.
  ///
  /// `table` and `bias` are the caller's: they must stay as they are for as long as the search
  /// lives. Any stride and any padding will do; rows that are not aligned and padded as a Matrix's
  /// are copied. The device needs the job top-k: Error(kDevice) where it is missing.
  ///
  /// Errors: kInvalidArgument for a number that is not finite or beyond kLargestNumber in size,
  /// naming row and column, likewise for a negative one with kHellinger, and for a bias that does
  /// not fit table or metric.
  FactorSearch(const MatrixView& table, std::span<const float> bias, SimilarityMetric metric,
               const Device& device);
  ~FactorSearch();
  FactorSearch(FactorSearch&&) noexcept;
  FactorSearch& operator=(FactorSearch&&) noexcept;

  [[nodiscard]] Index rows() const;     ///< of the table
  [[nodiscard]] Index factors() const;  ///< what table and queries have columns

  /// The n best rows of the table for each row of `queries`, best first, ties to the smaller row:
  /// TopKResult::items are rows of the table. The result's k is min(n, rows); counts[q] < k only
  /// where the filters leave fewer. Queries that are rows of the table, in its memory, are not
  /// transformed again; others may be copied once. Progress is
  /// reported as stage "score" in queries.
  ///
  /// Errors: kInvalidArgument for queries of another width or with a number that is not finite,
  /// beyond kLargestNumber or (kHellinger) negative, naming its place, for n < 1, for rows of the
  /// table in `allow`, `deny` or `excluded` that are none, and for rows of `excluded` that do not
  /// rise; kCancelled.
  [[nodiscard]] TopKResult top_k(const MatrixView& queries, const FactorSearchOptions& options = {},
                                 const RunControl& control = {}) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace likewise
