// SPDX-License-Identifier: Apache-2.0
/// The order of neighbours: the most similar first, of equally similar ones those with more common
/// entries, then the smaller row.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/knn/similarity.h"
#include "likewise/csr.h"
#include "likewise/knn.h"
#include "retrieval/top_k.h"

namespace likewise {

/// How many columns two rows have in common; both rise.
[[nodiscard]] Index common_entries(std::span<const Index> a, std::span<const Index> b);

/// A row that may be a neighbour.
struct NearRow : Candidate {
  static constexpr Index kUncounted = -1;

  /// Entries in common with the row whose neighbour it may be. Counted when they decide.
  mutable Index common = kUncounted;
};

/// The order of the neighbours of a row with these columns, of `rows`, which must outlive it.
class NearerTo {
 public:
  NearerTo(std::span<const Index> columns, const CsrView& rows) : columns_(columns), rows_(&rows) {}

  [[nodiscard]] bool operator()(const NearRow& a, const NearRow& b) const {
    if (a.score != b.score) return a.score > b.score;
    const Index of_a = common_with(a);
    const Index of_b = common_with(b);
    return of_a != of_b ? of_a > of_b : a.item < b.item;
  }

 private:
  [[nodiscard]] Index common_with(const NearRow& other) const {
    if (other.common == NearRow::kUncounted) {
      other.common = common_entries(columns_, rows_->row_columns(other.item));
    }
    return other.common;
  }

  std::span<const Index> columns_;
  const CsrView* rows_;
};

/// Sorts the k nearest of a row with these columns to the front, and says how many there are;
/// `rows` are the candidates'.
std::size_t sort_nearest(std::span<const Index> columns, const CsrView& rows, std::size_t k,
                         std::span<Candidate> candidates);
/// Leaves them only.
void keep_nearest(std::span<const Index> columns, const CsrView& rows, std::size_t k,
                  std::vector<Candidate>& candidates);

[[nodiscard]] bool are_ones(const CsrView& weights);

/// What a search has to do that knows similarities only.
enum class TieRule {
  kSmallerRow,  ///< equally similar rows have as many common entries
  kLongerRow,   ///< more common entries are those of the longer row
  kCount        ///< settle_ties()
};
[[nodiscard]] TieRule tie_rule(const PairFormula& formula, const WeightedRows& rows);

/// Row numbers, the longest rows first, of equally long ones the smaller first: with kLongerRow a
/// place in it decides ties.
[[nodiscard]] std::vector<Index> by_falling_length(const CsrView& rows);

/// Rows whose last neighbour is one of several that are as similar.
struct RowsWithTies {
  std::vector<Index> rows;
  std::vector<float> similarities;  ///< of their last ones
};

/// Of each the rows that are as similar as its last neighbour, those with more common entries
/// first, then the smaller; the first k are enough.
using FindTied = std::function<std::vector<std::vector<Index>>(const RowsWithTies&)>;

/// The k nearest of every row. `found` are the k + 1 most similar, in any order of ties but the
/// most similar first: with one more, a list tells whether others are as similar as its last.
/// Errors: kDevice where `find_tied` finds too few, and what it throws.
[[nodiscard]] KnnLists settle_ties(const CsrView& rows, const KnnLists& found, Index k,
                                   const FindTied& find_tied);

}  // namespace likewise
