// SPDX-License-Identifier: Apache-2.0
#include "algorithms/knn/knn.h"

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "algorithms/knn/biases.h"
#include "algorithms/knn/data_defaults.h"
#include "algorithms/knn/params.h"
#include "algorithms/knn/similarity.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/row_counts.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "likewise/knn.h"
#include "model/learned_parts.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {

BiasParams KnnParams::bias_params() const {
  BiasParams params;
  params.baseline_method = baseline_method;
  params.baseline_epochs = baseline_epochs;
  params.baseline_user_regularization = baseline_user_regularization;
  params.baseline_item_regularization = baseline_item_regularization;
  params.baseline_regularization = baseline_regularization;
  params.baseline_learning_rate = baseline_learning_rate;
  return params;
}

KnnParams KnnParams::defaults(Feedback feedback, Side side) {
  KnnParams params{.feedback = feedback, .side = side};
  if (feedback == Feedback::kExplicit) {
    params.similarity = Similarity::kPearsonBaseline;
    params.prediction = Prediction::kBaseline;
    return params;
  }
  params.similarity = Similarity::kTfidf;
  params.neighbours = 80;
  return params;
}

void KnnParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit && needs_biases()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} needs {}: counts have no baselines",
                    prediction == Prediction::kBaseline ? mention("prediction", "baseline")
                                                        : mention("similarity", "pearson-baseline"),
                    mention("feedback", "explicit")));
  }
  if (sum_scale == SumScale::kOffset && sum_lists != SumLists::kReverse) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} needs {}, not {}: it is a mean over the item's own neighbours",
                            mention("sum_scale", "offset"), mention("sum_lists", "reverse"),
                            kSumListsNames[static_cast<std::size_t>(sum_lists)]));
  }
}

Knn train_knn(const CsrView& by_user, const KnnParams& params, const Device& device,
              const RunControl& control) {
  params.validate();
  check_values(by_user, params);
  Biases biases = needed_biases(by_user, params, control);
  const SimilarityProblem problem(by_user, params, biases);
  const auto search = job<KnnJob>(device).make_search(problem);
  KnnLists found = search->find(params.neighbours, control);
  check_similarities(found, params.side);
  return {std::move(found), std::move(biases)};
}

namespace {

class NearestNeighbours final : public AlgorithmOf<KnnParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override {
    return (params().side == Side::kItems ? kItemKnnRow : kUserKnnRow).name;
  }

  [[nodiscard]] TrainingParams data_default_params(const CsrView& by_user,
                                                   const GivenNames& given) const override {
    return data_defaults(by_user, params(),
                         {given.has("neighbours"), given.has("similarity"), given.has("shrinkage"),
                          given.has("sum_lists"), given.has("sum_scale")});
  }
  [[nodiscard]] bool follows_data(std::string_view parameter,
                                  const GivenNames& /*given*/) const override {
    if (params().feedback == Feedback::kExplicit || params().prediction != Prediction::kSum) {
      return false;
    }
    if (params().side == Side::kUsers && parameter == "neighbours") return true;
    return parameter == "similarity" || (params().side == Side::kItems && parameter == "sum_scale");
  }
  [[nodiscard]] TrainingParams with_usual_values() const override {
    KnnParams filled = params();
    filled.shrinkage = filled.usual_shrinkage();
    if (filled.needs_biases()) filled.baseline_epochs = filled.bias_params().epochs();
    return filled;
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
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kKnn; }
  [[nodiscard]] Job lists_job() const override { return Job::kKnn; }
  [[nodiscard]] std::optional<Job> predictions_job() const override {
    if (!predicts_ratings()) return std::nullopt;
    return Job::kPredictions;
  }

  void learn(const Learning& learning) const override {
    learning.at_once([&] {
      return train_knn(learning.by_user(), params(), learning.device(), learning.control());
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.neighbourhood(params().side, params().needs_biases());
  }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.knn(); }

  [[nodiscard]] KnnParams scores_of_lists() const override { return params(); }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return update_knn(params(), task);
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

std::unique_ptr<const Algorithm> make_algorithm(const KnnParams& params) {
  return std::make_unique<NearestNeighbours>(params);
}

}  // namespace likewise
