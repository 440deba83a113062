// SPDX-License-Identifier: Apache-2.0
/// Lists of few items: of candidates that the caller names, or of a relevant item and a sample of
/// others (metrics.md, "Lists of few items").
#pragma once

#include <span>
#include <vector>

#include "evaluation/relevance.h"
#include "likewise/evaluation.h"

namespace likewise {

/// Throws Error(kInvalidArgument) for options that do not fit each other or `items` items.
void check_candidates(const EvaluateOptions& options, Index users, Index items);

/// Whether lists hold few items.
[[nodiscard]] inline bool of_few_items(const EvaluateOptions& options) {
  return options.candidates != nullptr || options.negatives != 0;
}

class CandidateLists {
 public:
  /// All must outlive it. Throws Error(kBadData) where no list would be left, and where none of
  /// them holds a relevant item.
  CandidateLists(const Relevance& relevance, const CsrView& test, const CsrView& seen,
                 const EvaluateOptions& options);

  /// One entry for each list: its user and what is relevant in it. Lists of one user follow each
  /// other.
  [[nodiscard]] const Relevance& lists() const { return lists_; }
  [[nodiscard]] Index users_without() const { return users_without_; }
  [[nodiscard]] Offset relevant_no_candidates() const { return relevant_no_candidates_; }
  /// The most items that a list has.
  [[nodiscard]] Offset longest() const { return longest_; }
  /// The items of a list, rising.
  [[nodiscard]] std::vector<Index> items(Offset list) const;

 private:
  void name_candidates(const Relevance& relevance);
  void one_list_for_each_item(const Relevance& relevance);
  [[nodiscard]] std::vector<Index> unseen_candidates(Index user) const;
  [[nodiscard]] std::vector<Index> item_and_sample(Index user, Index item) const;

  const CsrView& test_;
  const CsrView& seen_;
  const EvaluateOptions& options_;
  Relevance lists_;
  Index users_without_ = 0;
  Offset relevant_no_candidates_ = 0;
  Offset longest_ = 1;
};

}  // namespace likewise
