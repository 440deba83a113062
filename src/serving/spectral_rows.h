// SPDX-License-Identifier: Apache-2.0
/// Users of spectral factors.
#pragma once

#include <vector>

#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/spectral.h"
#include "serving/fold_in.h"

namespace likewise {

/// A user is the sum over its items of x_i n_i^(-2b) y_i: nothing is solved.
class SpectralRows final : public FoldInSolver {
 public:
  /// `history`: what the factors were learned from. `factors` must outlive it.
  SpectralRows(const Factors& factors, const SpectralParams& params, const CsrView& history);

  [[nodiscard]] Index width() const override { return factors_.items.cols(); }
  [[nodiscard]] std::vector<double> solve(const FoldInRow& row) const override;
  [[nodiscard]] Explanation explain(const FoldInRow& row, Index item) const override;

 private:
  const Factors& factors_;
  std::vector<double> scale_;  ///< n_i^(-2b); 0 for items that nobody has
};

}  // namespace likewise
