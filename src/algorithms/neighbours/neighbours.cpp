// SPDX-License-Identifier: Apache-2.0
#include "algorithms/neighbours/neighbours.h"

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "algorithms/neighbours/baselines.h"
#include "algorithms/neighbours/params.h"
#include "algorithms/neighbours/similarity.h"
#include "algorithms/neighbours/suited.h"
#include "algorithms/row_counts.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "likewise/neighbourhood.h"
#include "model/learned_parts.h"
#include "params/validate.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {

BiasParams NeighbourParams::baseline_params() const {
  BiasParams params;
  params.baseline_method = baseline_method;
  params.baseline_epochs = baseline_epochs;
  params.baseline_user_regularization = baseline_user_regularization;
  params.baseline_item_regularization = baseline_item_regularization;
  params.baseline_regularization = baseline_regularization;
  params.baseline_learning_rate = baseline_learning_rate;
  return params;
}

NeighbourParams NeighbourParams::defaults(Feedback feedback, Side side) {
  NeighbourParams params{.feedback = feedback, .side = side};
  if (feedback == Feedback::kExplicit) {
    params.similarity = Similarity::kPearsonBaseline;
    params.prediction = Prediction::kBaseline;
    return params;
  }
  params.similarity = Similarity::kTfidf;
  params.neighbours = 80;
  return params;
}

void NeighbourParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit && needs_baselines()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} needs feedback explicit: counts have no baselines",
                            prediction == Prediction::kBaseline ? "prediction baseline"
                                                                : "similarity pearson-baseline"));
  }
  if (sum_scale == SumScale::kOffset && sum_lists != SumLists::kReverse) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("sum_scale offset needs sum_lists reverse, not {}: it is a mean over the "
                    "item's own neighbours",
                    kSumListsNames[static_cast<std::size_t>(sum_lists)]));
  }
}

Neighbourhood train_neighbours(const CsrView& by_user, const NeighbourParams& params,
                               const Device& device, const RunControl& control) {
  params.validate();
  check_values(by_user, params);
  Baselines baselines = needed_baselines(by_user, params, control);
  const SimilarityProblem problem(by_user, params, baselines);
  const auto search = job<NeighbourJob>(device).make_search(problem);
  Neighbours found = search->find(params.neighbours, control);
  check_similarities(found, params.side);
  return {std::move(found), std::move(baselines)};
}

namespace {

class NearestNeighbours final : public AlgorithmOf<NeighbourParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override {
    return (params().side == Side::kItems ? kItemKnnRow : kUserKnnRow).name;
  }

  [[nodiscard]] TrainingParams suited_params(const CsrView& by_user,
                                             const GivenNames& given) const override {
    return suited(by_user, params(),
                  {given.has("neighbours"), given.has("similarity"), given.has("shrinkage"),
                   given.has("sum_lists"), given.has("sum_scale")});
  }
  void check_values(const CsrView& by_user) const override {
    likewise::check_values(by_user, params());
  }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    const bool of_items = params().side == Side::kItems;
    const Index rows = of_items ? by_user.cols : by_user.rows;
    return pairs_of(of_items ? row_counts(by_user) : column_counts(by_user)) / kEntryRate +
           rows * kSecondsOfRow;
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kNeighbours; }
  [[nodiscard]] Job lists_job() const override { return Job::kNeighbours; }
  [[nodiscard]] std::optional<Job> predictions_job() const override {
    if (!predicts_ratings()) return std::nullopt;
    return Job::kPredictions;
  }

  void learn(const Learning& learning) const override {
    learning.at_once([&] {
      return train_neighbours(learning.by_user(), params(), learning.device(), learning.control());
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.neighbourhood(params().side, params().needs_baselines());
  }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override {
    return saved.neighbourhood();
  }

  [[nodiscard]] NeighbourParams scores_of_lists() const override { return params(); }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return update_neighbours(params(), task);
  }

  [[nodiscard]] bool predicts_ratings() const override {
    return params().prediction != Prediction::kSum;
  }
  [[nodiscard]] std::string advice_on_lists() const override {
    if (!predicts_ratings()) return {};
    return fmt::format(
        "lists by predicted ratings put items first that few have rated highly; those of popular "
        "are better. For lists train {} with {}, or with {}",
        name(), mention("prediction", "sum"), mention("feedback", "implicit"));
  }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const NeighbourParams& params) {
  return std::make_unique<NearestNeighbours>(params);
}

}  // namespace likewise
