// SPDX-License-Identifier: Apache-2.0
/// Evaluation of a model on held-out interactions. One name, one written formula: metrics.md.
///
/// Ranking metrics look at one list per user: the best items that the user has not in `seen`. A
/// user counts when at least one relevant test item is left, where a test item is relevant when its
/// value is above 0 and reaches `min_relevant_value` (below 0: reaches it) and it is not in the
/// user's `seen` row (a list could never hold it). Users that the model knows but that have no
/// history count too, unless `with_history` leaves them out; the report says how many.
///
/// Lists may be of few items instead: of candidates that the caller names, or, for each relevant
/// item, of it and a sample of other items (He et al., Neural collaborative filtering, WWW 2017).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "likewise/interactions.h"
#include "likewise/recommender.h"

namespace likewise {

struct EvaluateOptions {
  std::vector<Index> k{10};  ///< list lengths, each >= 1; order and repeats do not matter
  /// Names without @k, of metric_names(): "ndcg", "rmse". Empty: the model's own kind: rmse and mae
  /// where it predicts ratings, else the ranking metrics without auc (which scores the whole
  /// catalogue for every user). rmse and mae of a model that predicts no ratings are an error.
  std::vector<std::string> metrics{};
  bool per_user = false;  ///< also keep every user's value
  /// Test values below this are not relevant for ranking metrics (explicit ratings: e.g. 4). Such
  /// items stay in the ranking, as items that should not be on top.
  float min_relevant_value = 0.0F;
  /// Not null: a user's list holds only the items of its row (in the model's indices, as
  /// make_test_set() gives them; values do not matter), less those in `seen`. Users without a
  /// candidate that is not seen are left out, and the report says how many; a relevant item that is
  /// no candidate is a miss. Must outlive the call.
  const CsrView* candidates = nullptr;
  /// Not 0: every relevant item has a list of its own, of the item and so many others, drawn
  /// without repeats from those that the user has neither in `seen` nor, with whatever value, in
  /// the test set (all of them where there are no more). A user's value is the mean of its lists.
  /// Not with `candidates`.
  Index negatives = 0;
  std::uint64_t seed = 42;  ///< of `negatives`
  /// Not empty: only these items are ranked, and only their test rows count; rising. Not with
  /// `candidates`, `negatives` or auc. Must outlive the call.
  std::span<const Index> items{};
  /// Users with an empty `seen` row are not ranked: to compare models, which have nothing to say of
  /// them. Predicted ratings are compared all the same.
  bool with_history = false;
};

struct EvaluationReport {
  /// "ndcg@10", "auc" -> mean over the evaluated users; "coverage@10" -> share of the catalogue;
  /// "rmse" -> over the test pairs.
  std::map<std::string, double> metrics;
  Index users_evaluated = 0;  ///< users with at least one relevant test item
  /// With an empty `seen` row: of these, or left out by EvaluateOptions::with_history.
  Index users_without_history = 0;
  Offset relevant_items = 0;           ///< relevant test items of the evaluated users
  Offset relevant_seen = 0;            ///< test rows left out of the relevant ones: in `seen` too
  Index users_without_candidates = 0;  ///< left out, though they have a relevant item
  Offset relevant_no_candidates = 0;   ///< of relevant_items: no candidates, and so misses
  Offset pairs_evaluated = 0;          ///< test rows that rating metrics saw
  std::vector<Index> users;            ///< per_user: who, in order
  /// per_user: values beside `users`, for every ranking metric but coverage (which is of all
  /// lists).
  std::map<std::string, std::vector<float>> per_user;
};

/// Names that EvaluateOptions::metrics accepts.
[[nodiscard]] std::vector<std::string> metric_names();
/// Whether more is better (false for rmse, mae, popularity). Takes "ndcg" and "ndcg@10" alike.
/// Throws Error(kInvalidArgument) on an unknown name, listing the known ones.
[[nodiscard]] bool higher_is_better(const std::string& metric);

/// One metric at one list length.
struct NamedMetric {
  std::string key;  ///< in EvaluationReport::metrics: "ndcg@10", "rmse"
  std::string name;
  Index k = 10;
};
/// Whether `a` is better than `b` by this metric.
[[nodiscard]] bool is_better(const NamedMetric& metric, double a, double b);
/// "ndcg@20", "ndcg" (at 10), "rmse". Throws Error(kInvalidArgument) on an unknown name, listing
/// the known ones, and on a list length that is none or that the metric has no use for.
[[nodiscard]] NamedMetric parse_metric(const std::string& text);

/// A value of a metric that is good enough: so much or more, or so much or less where lower is
/// better.
struct MetricTarget {
  NamedMetric metric;
  double value = 0.0;
};
/// "ndcg@10=0.35", "rmse=0.92". Throws Error(kInvalidArgument) on what parse_metric() and
/// require_possible() refuse, and on a text of another form.
[[nodiscard]] MetricTarget parse_target(const std::string& text);
/// Throws Error(kInvalidArgument) on a value that the metric never has: one that is not finite or
/// negative, more than 1 where the metric is a share.
void require_possible(const NamedMetric& metric, double value);

/// What the metrics of an evaluation look at.
struct MetricNeeds {
  bool lists = false;    ///< lists of k items
  bool ranking = false;  ///< lists or whole rankings
  bool ratings = false;  ///< predicted ratings
  bool search = false;   ///< the device's lists_job(); not for candidates and negatives
};
/// Same errors as evaluate().
[[nodiscard]] MetricNeeds needs_of(const Model& model, const EvaluateOptions& options);
/// What evaluate() asks of a device. Same errors.
[[nodiscard]] std::vector<Job> evaluation_jobs(const Model& model, const EvaluateOptions& options);

/// A sentence for people where lists of this model are known to be worse than those of the
/// popularity baseline: ratings predicted from neighbours. Else empty.
[[nodiscard]] std::string advice_on_lists(const Model& model);

/// "192 of 297 users have no history: not ranked"; empty where all have one.
[[nodiscard]] std::string text_of_not_ranked(Index without_history, Index users);
/// A sentence for people where so many of the users ranked have no history that metrics of lists
/// are about them: more than a tenth, of a model that knows no features of users. Else empty.
[[nodiscard]] std::string advice_on_history(const Model& model, const EvaluationReport& report);

/// Held-out interactions in a model's index space. Error(kBadData) where users and items are
/// exchanged: no user is known but all are items of the model, and no item but some are users. Rows
/// that name users or items unknown to the model cannot be ranked; rating metrics see them with
/// index -1 and the model's fallback.
struct TestSet {
  CsrMatrix by_user;                  ///< known users x known items
  std::vector<Index> fallback_users;  ///< pairs with an unknown side: -1 where unknown
  std::vector<Index> fallback_items;
  std::vector<float> fallback_values;
  Offset unknown_users = 0;  ///< test rows whose user the model does not know
  Offset unknown_items = 0;  ///< test rows whose item the model does not know
  bool faded = false;        ///< Interactions::faded: no ratings to be predicted
};
/// Finds the test ids in the model's maps. A row with both sides unknown is in both counts. Works
/// for any interactions, so a training file becomes the `seen` of evaluate() as
/// `make_test_set(model, train).by_user`.
[[nodiscard]] TestSet make_test_set(const Model& model, const Interactions& test);

/// Ranks all items a user has not in `seen` (the model's history when seen.rows == 0; to exclude
/// nothing, pass a matrix with empty rows) and compares with the test set, all k in one pass over
/// one list per user; users go in batches, so memory is bounded. The numbers do not depend on the
/// number of threads. Errors: kInvalidArgument (names metric, k or shape), kBadData (nothing to
/// evaluate, with the reason), kCancelled.
[[nodiscard]] EvaluationReport evaluate(const Recommender& recommender, const TestSet& test,
                                        const EvaluateOptions& options, const CsrView& seen = {},
                                        const RunControl& control = {});

}  // namespace likewise
