// SPDX-License-Identifier: Apache-2.0
/// Which pairs of rows a summed score adds up, and what becomes of the sum (math.md, "Summed
/// scores").
#pragma once

#include <vector>

#include "likewise/csr.h"
#include "likewise/knn.h"

namespace likewise {

/// With x a row that is known (an item of the history, the user): the rows y that x adds to, and
/// s. Made once for a model; `lists` and `by_user` must outlive it.
class SumPairs {
 public:
  SumPairs(const KnnLists& lists, const CsrView& by_user, const KnnParams& params);

  [[nodiscard]] const KnnLists& pairs() const { return own_ ? lists_ : made_; }
  /// The score of a target from its sum.
  [[nodiscard]] double scaled(Index target, double sum) const {
    if (divisors_.empty()) return sum;
    const double divisor = divisors_[static_cast<std::size_t>(target)];
    return offset(target) + (divisor > 0.0 ? sum / divisor : 0.0);
  }
  /// What stands before the sum.
  [[nodiscard]] double offset(Index target) const {
    return offsets_.empty() ? 0.0 : offsets_[static_cast<std::size_t>(target)];
  }

 private:
  void scale(const CsrView& by_user, bool about_means);

  const KnnLists& lists_;
  bool own_;
  KnnLists made_;
  std::vector<double> divisors_;  ///< sum |s| over the target's list; empty: sums stay as they are
  std::vector<double> offsets_;
};

}  // namespace likewise
