// SPDX-License-Identifier: Apache-2.0
/// Metrics of ranked lists, batch after batch; knows nothing of models.
#pragma once

#include <span>
#include <vector>

#include "evaluation/metric_table.h"
#include "evaluation/relevance.h"
#include "likewise/top_k.h"

namespace likewise {

/// Collects one value per user and column. Values of a batch are computed in parallel and added in
/// the order of the users, so neither threads nor the size of the batches change the sums.
class ListEvaluation {
 public:
  /// All three must outlive this. `popularity` (one per item) may be empty where the plan
  /// does not need it.
  ListEvaluation(const EvaluationPlan& plan, const Relevance& relevance,
                 std::span<const float> popularity, Index catalogue, bool per_user);

  /// Lists of the next lists.counts.size() users of `relevance`.
  void add(const TopKResult& lists);

  /// Writes means, coverage and per-user values. Once all users were added.
  void finish(EvaluationReport& report) const;

 private:
  void measure(const TopKResult& lists, Offset query, std::vector<std::uint8_t>& hits,
               std::span<double> values) const;
  void note_places(const TopKResult& lists);

  const EvaluationPlan& plan_;
  const Relevance& relevance_;
  std::span<const float> popularity_;
  Offset done_ = 0;                           ///< users added so far
  std::vector<double> sums_;                  ///< beside plan_.columns
  std::vector<std::vector<float>> per_user_;  ///< beside plan_.columns; empty: not requested
  std::vector<Index> best_place_;             ///< per item: the best place (0 = top) in any list
};

}  // namespace likewise
