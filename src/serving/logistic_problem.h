// SPDX-License-Identifier: Apache-2.0
/// Logistic regression of one row, by Newton's method in double precision.
#pragma once

#include <vector>

#include "likewise/types.h"

namespace likewise {

/// With h_r = offset_r + y~_r . s for row r of the other side, and h = 0 for none, minimises
///
///     J(s) = sum over terms of -weight ln sigma(h_above - h_below) + 1/2 sum over j of ridge_j
///     s_j^2
///
/// A like is a row above none, a dislike none above a row, a preference one row above another.
struct LogisticProblem {
  static constexpr Index kNone = -1;
  struct Term {
    Index above = kNone;
    Index below = kNone;
    double weight = 1.0;
  };

  Index width = 0;               ///< of y~ and of s
  std::vector<double> features;  ///< y~, row after row
  std::vector<double> offsets;   ///< one per row
  std::vector<Term> terms;       ///< each of one row at least
  std::vector<double> ridge;     ///< one per number of s, not negative
  Offset count = 0;              ///< entries of the row, for messages

  /// The s of the least J. Throws Error(kNumerical), saying that regularization is missing, where
  /// the terms leave s open or J falls without end.
  [[nodiscard]] std::vector<double> minimum() const;
};

}  // namespace likewise
