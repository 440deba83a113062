// SPDX-License-Identifier: Apache-2.0
/// Users and items that have entries. A matrix by ids (a scipy matrix whose numbers of rows and
/// columns are those of a database) may have many more rows and columns than these. What is
/// counted, drawn and weighed are those with entries: a model is the same as without the others.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/iteration_run.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/types.h"

namespace likewise {

/// Which rows of both sides have entries.
class RowsWithEntries {
 public:
  /// Of a matrix users x items.
  explicit RowsWithEntries(const CsrView& by_user);

  [[nodiscard]] const std::vector<Index>& of(Side side) const {
    return side == Side::kUsers ? users_ : items_;
  }
  [[nodiscard]] Index count(Side side) const { return static_cast<Index>(of(side).size()); }
  [[nodiscard]] bool are_all() const { return are_all_; }

  /// Users x items without the others, in the same order.
  [[nodiscard]] CsrMatrix part_of(const CsrView& by_user) const;
  [[nodiscard]] Factors part_of(const Factors& all) const;
  /// The way back: factors and biases of the others are 0.
  [[nodiscard]] Factors among_all(const Factors& part) const;

 private:
  std::vector<Index> users_;  ///< rising
  std::vector<Index> items_;
  Index all_users_;
  Index all_items_;
  bool are_all_;
};

/// Of the matrix that is trained on where `train_rows_with_entries` trains; a Shape is made of
/// users, items and interactions.
template <class Shape>
[[nodiscard]] Shape shape_with_entries(const CsrView& by_user) {
  if (by_user.nnz() == 0) return {by_user.rows, by_user.cols, 0};
  const RowsWithEntries rows(by_user);
  return {rows.count(Side::kUsers), rows.count(Side::kItems), by_user.nnz()};
}

/// Rows of a side that a model has learned from: those with entries in its history. Without a
/// history those whose factors are not all 0, which lack rows that have no likes.
[[nodiscard]] std::vector<Index> rows_learned_from(const CsrView& history, const Factors& factors,
                                                   Side side);

/// What `train` learns of the rows with entries alone, among all. Factors to start from, those that
/// `run` is shown, and rows in errors are numbered as in `by_user`. First factors that the caller
/// drew (a start after 0 iterations) are for all rows: of these it learns of all.
[[nodiscard]] IterationResult train_rows_with_entries(
    const CsrView& by_user, const IterationRun& run,
    const std::function<IterationResult(const CsrView&, const IterationRun&)>& train);

}  // namespace likewise
