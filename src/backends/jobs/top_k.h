// SPDX-License-Identifier: Apache-2.0
/// The job `top-k`: the best items of each query, and all scores of a few. What every device is
/// tested against: src/backends/reference/scorer.cpp; what scorers share: src/retrieval/top_k.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "likewise/top_k.h"

namespace likewise {

/// Which items a query may be answered with.
struct TopKFilter {
  /// Row q lists (sorted) items that query q must not get: seen items, deny lists. May be empty
  /// (rows == 0): nothing excluded.
  CsrView excluded;
  /// Empty, or one byte per item: 0 removes the item for every query.
  std::span<const std::uint8_t> allowed;
};

/// What a query q and an item y score. Both are summed in double precision and rounded once.
enum class ScoreKind {
  kDot,              ///< q . y + bias
  kSquaredDistance,  ///< -|q - y|^2, so that the nearest are the best
};

/// Scores queries against a fixed table of items. Thread-safe after construction. Never holds more
/// than a bounded block of scores.
///
/// A score is the same number on every device. Products, which double precision holds as they are,
/// and squares of differences, which are rounded, are added to one of eight sums, that of column j
/// to sum j mod 8; the result is ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)), and a bias
/// comes last.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// The k best items of each query (queries.cols == factors of the table; k >= 0 may exceed the
  /// catalogue). Errors: kInvalidArgument naming the shape that does not fit, the number of a query
  /// that is not finite or beyond kLargestNumber, or the row of the filter that is not a list of
  /// rising items; kCancelled.
  [[nodiscard]] virtual TopKResult top_k(const MatrixView& queries, Index k,
                                         const TopKFilter& filter,
                                         const RunControl& control) const = 0;
  /// The same with k = result.k, written over what the arrays of `result` hold: those of as many
  /// answers as there are queries, of at most as many items as there are.
  virtual void top_k_into(const MatrixView& queries, const TopKFilter& filter,
                          const RunControl& control, TopKResult& result) const;
  /// All scores of a few queries: out is queries.rows x items, row-major without padding.
  virtual void score_all(const MatrixView& queries, float* out) const = 0;
};

/// Makes lists. Thread-safe.
class TopKJob {
 public:
  static constexpr Job kJob = Job::kTopK;

  virtual ~TopKJob() = default;
  /// `items` (items x factors) and `item_bias` (empty or one per item; empty for distances) must
  /// outlive the scorer. Throws Error(kInvalidArgument) where they do not fit together.
  [[nodiscard]] virtual std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                            std::span<const float> item_bias,
                                                            ScoreKind score) const = 0;
  /// Whether a table of this size stays in the device's memory between calls, by its size alone;
  /// else it passes through in every call.
  [[nodiscard]] virtual bool keeps(Index /*items*/, Index /*columns*/) const { return true; }
};

}  // namespace likewise
