// SPDX-License-Identifier: Apache-2.0
/// Metrics of ranked lists, batch after batch; knows nothing of models.
#pragma once

#include <span>
#include <vector>

#include "evaluation/metric_table.h"
#include "evaluation/relevance.h"
#include "evaluation/user_means.h"
#include "likewise/top_k.h"

namespace likewise {

/// Collects one value per list and column. Values of a batch are computed in parallel and added in
/// the order of the lists, so neither threads nor the size of the batches change the sums.
class ListEvaluation {
 public:
  /// All three must outlive this. `relevance` has an entry for each list; a user's value is the
  /// mean of its lists, which follow each other. `popularity` (one per item) may be empty where the
  /// plan does not need it.
  ListEvaluation(const EvaluationPlan& plan, const Relevance& relevance,
                 std::span<const float> popularity, Index catalogue, bool per_user);

  /// The next lists.counts.size() lists of `relevance`.
  void add(const TopKResult& lists);

  /// Writes means, coverage and per-user values. Once all lists were added.
  void finish(EvaluationReport& report);

 private:
  void measure(const TopKResult& lists, Offset query, std::vector<std::uint8_t>& hits,
               std::span<double> values) const;
  void note_places(const TopKResult& lists);

  const EvaluationPlan& plan_;
  const Relevance& relevance_;
  std::span<const float> popularity_;
  bool per_user_;
  Offset done_ = 0;                ///< lists added so far
  UserMeans means_;                ///< beside plan_.columns
  std::vector<Index> best_place_;  ///< per item: the best place (0 = top) in any list
};

}  // namespace likewise
