// SPDX-License-Identifier: Apache-2.0
#include "algorithms/ease/ease.h"

#include <utility>

#include "algorithms/cost.h"
#include "algorithms/ease/params.h"
#include "algorithms/finite.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/row_counts.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "likewise/memory.h"
#include "model/learned_parts.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {

void EaseParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      mentions(
          "{feedback} must be implicit with ease, whose scores rank items; from explicit ratings "
          "als and sgd learn"));
}

namespace {

[[nodiscard]] EaseShape shape_of(const CsrView& by_user, const EaseParams& params) {
  const bool is_local = params.form == EaseForm::kLocal;
  return {by_user.rows, by_user.cols, by_user.nnz(), is_local ? params.candidates : 0};
}

[[nodiscard]] EaseSystem system_of(const EaseParams& params) {
  EaseSystem system;
  system.user_exponent = params.user_exponent;
  if (params.scale_items) system.item_exponent = params.item_exponent;
  system.regularization = params.regularization;
  system.dropout = params.dropout;
  return system;
}

/// The most similar items of each item, by random walks.
[[nodiscard]] KnnLists candidates_of(const CsrView& by_user, const EaseParams& params,
                                     const Device& device, const RunControl& control) {
  KnnParams walks;
  walks.similarity = Similarity::kRp3;
  walks.neighbours = params.candidates;
  return train_knn(by_user, walks, device, control).neighbours;
}

/// Throws PlacedError(kBadData) for a value beyond what rows can be compared by.
void check_ease_values(const CsrView& by_user) { check_values(by_user, KnnParams{}); }

/// Whether weights of all pairs of items fit into half of the memory that is free.
[[nodiscard]] bool dense_fits(Index items) {
  const double bytes = static_cast<double>(items) * items * sizeof(float);
  return bytes <= 0.5 * static_cast<double>(available_memory());
}

}  // namespace

std::variant<ItemWeights, Knn> train_ease(const CsrView& by_user, const EaseParams& params,
                                          const Device& device, const RunControl& control) {
  params.validate();
  check_ease_values(by_user);
  const EaseJob& ease = job<EaseJob>(device);
  (void)ease.plan(shape_of(by_user, params));
  if (params.form == EaseForm::kDense) {
    return ItemWeights{ease.dense_weights(by_user, system_of(params), control)};
  }
  const KnnLists candidates = candidates_of(by_user, params, device, control);
  return Knn{ease.local_weights(by_user, system_of(params), candidates, control), {}};
}

namespace {

class Ease final : public AlgorithmOf<EaseParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kEaseRow.name; }

  [[nodiscard]] TrainingParams data_default_params(const CsrView& by_user,
                                                   const GivenNames& given) const override {
    EaseParams data_defaults = params();
    if (!given.has("form") && !dense_fits(by_user.cols)) data_defaults.form = EaseForm::kLocal;
    return data_defaults;
  }
  void check_values(const CsrView& by_user) const override { check_ease_values(by_user); }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    const double items = by_user.cols;
    const double pairs = pairs_of(row_counts(by_user)) / kEntryRate;
    if (is_dense()) return pairs + items * items * items / kDenseRate;
    const double candidates = std::min(items, static_cast<double>(params().candidates));
    return 2.0 * pairs + items * candidates * candidates * candidates / kDenseRate;
  }
  [[nodiscard]] std::optional<TrainingParams> cheaper_form() const override {
    if (!is_dense()) return std::nullopt;
    EaseParams local = params();
    local.form = EaseForm::kLocal;
    return local;
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kEase; }
  /// Plans for an empty matrix.
  void require_taken(const Device& device) const override {
    (void)job<EaseJob>(device).plan({0, 0, 0, is_dense() ? 0 : params().candidates});
  }
  [[nodiscard]] MemoryPlan memory(const Device& device, const CsrView& by_user) const override {
    return job<EaseJob>(device).plan(shape_of(by_user, params()));
  }
  [[nodiscard]] Job lists_job() const override { return Job::kEase; }

  void learn(const Learning& learning) const override {
    learning.at_once(
        [&] { return learned(learning.by_user(), learning.device(), learning.control()); });
  }

  void check_learned(const LearnedCheck& check) const override {
    if (is_dense()) return check.item_weights();
    check.neighbourhood(Side::kItems, false);
  }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override {
    if (is_dense()) return saved.item_weights();
    return saved.knn();
  }

  /// An item's list has those that add to its score.
  [[nodiscard]] KnnParams scores_of_lists() const override {
    KnnParams params;
    params.sum_lists = SumLists::kReverse;
    return params;
  }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    const CsrView history = task.growth.history.view();
    check_ease_values(history);
    return {learned(history, task.device, task.control), 0, history.cols};
  }

  [[nodiscard]] bool predicts_ratings() const override { return false; }

 private:
  [[nodiscard]] bool is_dense() const { return params().form == EaseForm::kDense; }

  [[nodiscard]] Learned learned(const CsrView& by_user, const Device& device,
                                const RunControl& control) const {
    return std::visit([](auto&& found) { return Learned(std::move(found)); },
                      train_ease(by_user, params(), device, control));
  }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const EaseParams& params) {
  return std::make_unique<Ease>(params);
}

}  // namespace likewise
