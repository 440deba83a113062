// SPDX-License-Identifier: Apache-2.0
/// Evaluation of a model on held-out interactions. One name, one written formula: docs/math.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "likewise/interactions.h"
#include "likewise/recommender.h"

namespace likewise {

struct EvaluateOptions {
  std::vector<Index> k{10};            ///< list lengths, each >= 1
  /// Names without @k: precision, recall, truncated_recall, hit_rate, map, mrr, ndcg, auc,
  /// coverage, popularity, rmse, mae. Empty: the ranking metrics (implicit) or rmse and mae
  /// (explicit).
  std::vector<std::string> metrics;
  bool per_user = false;               ///< also keep every user's value
  /// Test values below this are not relevant for ranking metrics (explicit ratings: e.g. 4).
  float min_relevant_value = 0.0F;
};

struct EvaluationReport {
  /// "ndcg@10" -> mean over the evaluated users; "rmse" -> over the test pairs.
  std::map<std::string, double> metrics;
  Index users_evaluated = 0;           ///< users with at least one relevant test item
  Offset pairs_evaluated = 0;          ///< test rows that rating metrics saw
  std::vector<Index> users;            ///< per_user: who, in order
  std::map<std::string, std::vector<float>> per_user;  ///< per_user: values beside `users`
};

/// Names that EvaluateOptions::metrics accepts.
[[nodiscard]] std::vector<std::string> metric_names();
/// Whether more is better (false for rmse, mae, popularity).
[[nodiscard]] bool higher_is_better(const std::string& metric);

/// Held-out interactions in a model's index space. Rows that name users or items unknown to the
/// model cannot be ranked; rating metrics see them with index -1 and the model's fallback.
struct TestSet {
  CsrMatrix by_user;                   ///< known users x known items
  std::vector<Index> fallback_users;   ///< pairs with an unknown side: -1 where unknown
  std::vector<Index> fallback_items;
  std::vector<float> fallback_values;
  Offset unknown_users = 0;            ///< test rows whose user the model does not know
  Offset unknown_items = 0;            ///< test rows whose item the model does not know
};
[[nodiscard]] TestSet make_test_set(const Model& model, const Interactions& test);

/// Ranks all items a user has not in `seen` (the model's history when seen.rows == 0) and compares
/// with the test set, all k in one pass; bounded memory. Errors: kInvalidArgument (names metric or
/// k), kBadData (nothing to evaluate), kCancelled.
[[nodiscard]] EvaluationReport evaluate(const Recommender& recommender, const TestSet& test,
                                        const EvaluateOptions& options, const CsrView& seen = {},
                                        const RunControl& control = {});

}  // namespace likewise
