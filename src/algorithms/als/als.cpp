// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/als.h"

#include <utility>

#include <fmt/format.h>

#include "algorithms/als/data_defaults.h"
#include "algorithms/als/first_factors.h"
#include "algorithms/als/params.h"
#include "algorithms/als/weights.h"
#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "algorithms/iteration_run.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/row_counts.h"
#include "algorithms/rows_with_entries.h"
#include "algorithms/sgd/sgd.h"
#include "backends/jobs/als_solver.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/autotune.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "model/learned_parts.h"
#include "serving/least_squares_rows.h"
#include "training/growth.h"
#include "training/iterate.h"
#include "training/learning.h"

namespace likewise {
namespace {

[[nodiscard]] AlsShape shape_of(const CsrView& by_user) {
  return {by_user.rows, by_user.cols, by_user.nnz()};
}

void check_start(const Factors& start, const CsrView& by_user, const AlsParams& params) {
  const bool fits = start.users.rows() == by_user.rows && start.items.rows() == by_user.cols &&
                    start.users.cols() == params.factors && start.items.cols() == params.factors &&
                    start.user_bias.empty() != has_biases(params);
  if (fits || (by_user.rows == 0 && start.items.rows() == by_user.cols)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("the factors to start from are {} x {} and {} x {}{}; this matrix and these "
                  "parameters need {} x {} and {} x {}{}",
                  start.users.rows(), start.users.cols(), start.items.rows(), start.items.cols(),
                  start.user_bias.empty() ? "" : " with biases", by_user.rows, params.factors,
                  by_user.cols, params.factors, has_biases(params) ? " with biases" : ""));
}

/// An iteration solves the users, then the items.
class AlsTrainer final : public Trainer {
 public:
  explicit AlsTrainer(std::unique_ptr<AlsSolver> solver) : solver_(std::move(solver)) {}
  double step(const RunControl& control) override {
    solver_->solve(Side::kUsers, control);
    return solver_->solve(Side::kItems, control);
  }
  [[nodiscard]] const Factors& factors() override { return solver_->factors(); }
  [[nodiscard]] Factors take() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<AlsSolver> solver_;
};

}  // namespace

AlsParams AlsParams::defaults(Feedback feedback) {
  AlsParams params;
  params.feedback = feedback;
  if (feedback == Feedback::kExplicit) {
    params.regularization = 0.1;
    params.regularization_exponent = 1.0;
  }
  return params;
}

void AlsParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kExplicit && unobserved_weight) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} must be left out with explicit feedback, not {}",
                            mention("unobserved_weight"), *unobserved_weight));
  }
  if (nonnegative && solver == AlsSolverKind::kCg) {
    throw Error(ErrorKind::kInvalidArgument,
                "nonnegative needs solver auto or cholesky: conjugate gradients know no bounds");
  }
}

namespace {

[[nodiscard]] IterationResult train_part(const CsrView& by_user, const AlsParams& params,
                                         const Device& device, const IterationRun& run) {
  const MemoryPlan plan = job<AlsJob>(device).plan(shape_of(by_user), params);
  if (run.on_plan) run.on_plan(plan);
  Factors start = run.start != nullptr ? run.start->clone() : first_factors(by_user, params);
  AlsTrainer trainer(
      job<AlsJob>(device).make_solver(by_user, params, std::move(start), run.completed_iterations));
  return iterate(trainer, stopping_of(params), run);
}

}  // namespace

IterationResult train_als(const CsrView& by_user, const AlsParams& params, const Device& device,
                          const IterationRun& run) {
  params.validate();
  check_values(by_user, params);
  if (run.start != nullptr) check_start(*run.start, by_user, params);
  return train_rows_with_entries(by_user, run,
                                 [&](const CsrView& part, const IterationRun& of_part) {
                                   return train_part(part, params, device, of_part);
                                 });
}

namespace {

class Als final : public AlgorithmOf<AlsParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kAlsRow.name; }

  [[nodiscard]] TrainingParams data_default_params(const CsrView& by_user,
                                                   const GivenNames& given) const override {
    return data_defaults(by_user, params(),
                         {given.has("factors"), given.has("regularization"),
                          given.has("regularization_exponent"), given.has("unobserved_weight"),
                          given.has("alpha") || given.has("confidence"), given.has("init_stddev")});
  }
  [[nodiscard]] bool follows_data(std::string_view parameter,
                                  const GivenNames& given) const override {
    if (params().feedback == Feedback::kExplicit) {
      return parameter == "regularization" || (parameter == "init_stddev" && !params().biases);
    }
    if (given.has("alpha") || given.has("confidence")) return false;
    return parameter == "factors" || parameter == "regularization" ||
           parameter == "unobserved_weight";
  }
  void check_values(const CsrView& by_user) const override {
    likewise::check_values(by_user, params());
  }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    const RowCounts counts = counts_of_rows_with_entries(by_user);
    const AlsShape shape{static_cast<Index>(counts.of_users.size()),
                         static_cast<Index>(counts.of_items.size()), by_user.nnz()};
    if (solves_exactly(params(), shape)) {
      const AlsRowCost cost(params(), shape);
      double operations = 0.0;
      for (const Offset count : counts.of_users) operations += cost.row(count);
      for (const Offset count : counts.of_items) operations += cost.row(count);
      return params().iterations * operations /
             (params().nonnegative ? kNonnegativeRate : kExactRate);
    }
    const auto rows = static_cast<double>(counts.of_users.size() + counts.of_items.size());
    const auto entries = static_cast<double>(by_user.nnz());
    return params().iterations * als_seconds(rows, entries, params().factors);
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kAls; }
  /// Makes a solver of an empty matrix.
  void require_taken(const Device& device) const override {
    const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
    Factors none{Matrix(0, params().factors), Matrix(0, params().factors), {}, {}, 0.0F};
    (void)job<AlsJob>(device).make_solver(nothing.view(), params(), std::move(none));
  }
  [[nodiscard]] bool gains_by_gpus() const override { return true; }
  [[nodiscard]] MemoryPlan memory(const Device& device, const CsrView& by_user) const override {
    return job<AlsJob>(device).plan(shape_with_entries<AlsShape>(by_user), params());
  }
  [[nodiscard]] std::string tuning(const Device& device, const CsrView& by_user) const override {
    if (!has_tunings(device)) return "there is none on this device";
    const ChosenTuning chosen =
        chosen_tuning(device, params(), shape_with_entries<AlsShape>(by_user));
    return fmt::format("{} ({})", tuning_text(chosen.tuning), chosen.source);
  }
  [[nodiscard]] std::optional<Job> predictions_job() const override { return Job::kPredictions; }

  void learn(const Learning& learning) const override {
    learning.by_iterations(stopping_of(params()), [&](const IterationRun& run) {
      return train_als(learning.by_user(), params(), learning.device(), run);
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    const bool may_move =
        params().solver == AlsSolverKind::kAuto && params().feedback == Feedback::kImplicit;
    check.factors(params().factors, {.changes = may_move ? params().factors : 0});
  }
  [[nodiscard]] bool learns_factors() const override { return true; }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.factors(); }

  [[nodiscard]] std::unique_ptr<FoldInSolver> fold_in_solver(const Model& model,
                                                             const Factors& factors,
                                                             Side side) const override {
    const auto others = rows_learned_from(model.history.view(), factors, other(side)).size();
    return std::make_unique<LeastSquaresRows>(
        factors, row_weights(params(), static_cast<Index>(others)), side);
  }

  [[nodiscard]] UsualUpdate usual_update(std::optional<UpdateBy> by) const override {
    return by == UpdateBy::kSgd ? UsualUpdate{3, true} : UsualUpdate{2, false};
  }
  [[nodiscard]] bool has_ways_to_update() const override { return true; }
  void require_update_by(UpdateBy by) const override {
    if (by != UpdateBy::kSgd || params().feedback == Feedback::kExplicit) return;
    throw Error(
        ErrorKind::kInvalidArgument,
        "by sgd needs a model of explicit feedback: of implicit feedback als weighs all cells, "
        "and steps over the new ones would leave the others out");
  }
  [[nodiscard]] std::optional<SgdParams> update_steps() const override {
    if (params().feedback == Feedback::kImplicit) return std::nullopt;
    return sgd_params_of(params());
  }
  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return update_als(params(), task);
  }

  [[nodiscard]] bool predicts_ratings() const override {
    return params().feedback == Feedback::kExplicit;
  }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const AlsParams& params) {
  return std::make_unique<Als>(params);
}

}  // namespace likewise
