// SPDX-License-Identifier: Apache-2.0
#include "likewise/neighbourhood.h"

#include <limits>
#include <string>

#include <fmt/format.h>

#include "algorithms/baselines.h"
#include "algorithms/similarity.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::min();

template <class Number>
void check_range(const char* field, Number value, Number low, Number high, const char* range) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} must be {}, not {}", field, range, value));
}

}  // namespace

NeighbourParams NeighbourParams::defaults(Feedback feedback) {
  NeighbourParams params;
  params.feedback = feedback;
  if (feedback == Feedback::kExplicit) {
    params.similarity = Similarity::kPearsonBaseline;
    params.prediction = Prediction::kBaseline;
  }
  return params;
}

void NeighbourParams::validate() const {
  constexpr const char* kNotNegative = "a finite number >= 0";
  constexpr const char* kPositive = "a finite number > 0";
  check_range("neighbours", neighbours, 1, 100'000, "in [1, 100000]");
  check_range("min_support", min_support, 1, std::numeric_limits<int>::max(), "1 or more");
  check_range("shrinkage", shrinkage.value_or(0.0), 0.0, kHuge, kNotNegative);
  check_range("amplification", amplification, kTiny, kHuge, kPositive);
  check_range("min_neighbours", min_neighbours, 1, 100'000, "in [1, 100000]");
  check_range("baseline_epochs", baseline_epochs.value_or(0), 0, 1'000'000, "in [0, 1000000]");
  check_range("baseline_user_regularization", baseline_user_regularization, 0.0, kHuge,
              kNotNegative);
  check_range("baseline_item_regularization", baseline_item_regularization, 0.0, kHuge,
              kNotNegative);
  check_range("baseline_regularization", baseline_regularization, 0.0, kHuge, kNotNegative);
  check_range("baseline_learning_rate", baseline_learning_rate, kTiny, kHuge, kPositive);
  check_range("bm25_k1", bm25_k1, 0.0, kHuge, kNotNegative);
  check_range("bm25_b", bm25_b, 0.0, 1.0, "in [0, 1]");
  check_range("popularity_damping", popularity_damping, 0.0, 1.0, "in [0, 1]");
  if (feedback == Feedback::kImplicit && needs_baselines()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} needs feedback explicit: counts have no baselines",
                            prediction == Prediction::kBaseline ? "prediction baseline"
                                                                : "similarity pearson-baseline"));
  }
}

NeighbourResult train_neighbours(const CsrView& by_user, const NeighbourParams& params,
                                 const Backend& backend, const RunControl& control) {
  params.validate();
  Factors baselines = needed_baselines(by_user, params);
  const SimilarityProblem problem(by_user, params, baselines);
  Neighbours found = backend.make_neighbour_search(problem)->find(params.neighbours, control);
  return {std::move(found), std::move(baselines)};
}

}  // namespace likewise
