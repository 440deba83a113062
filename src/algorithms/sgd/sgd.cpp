// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sgd/sgd.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "algorithms/iteration_run.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/sgd/params.h"
#include "algorithms/sgd/setup.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/device.h"
#include "likewise/sgd.h"
#include "model/learned_parts.h"
#include "serving/least_squares_rows.h"
#include "serving/logistic_rows.h"
#include "training/growth.h"
#include "training/iterate.h"
#include "training/learning.h"

namespace likewise {
namespace {

[[nodiscard]] SgdShape shape_of(const CsrView& by_user) {
  return {by_user.rows, by_user.cols, by_user.nnz()};
}

/// lambda of the factors for each unit of the values' spread, which makes 0.9 of 1 to 5 stars: with
/// values times c, factors times sqrt(c) then cost as much beside losses times c^2.
constexpr double kShareOfSpread = 0.8;
/// Values beyond what these say are refused where they are checked.
constexpr double kLeastLambda = 1e-12;
constexpr double kMostLambda = 1e15;

/// So many digits that a user can give the same again.
[[nodiscard]] double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

/// An iteration is an epoch.
class SgdTrainer final : public Trainer {
 public:
  /// `of_nothing`: the objective of factors that know nothing.
  SgdTrainer(std::unique_ptr<SgdSolver> solver, const SgdParams& params,
             std::vector<Iteration> done, double of_nothing)
      : solver_(std::move(solver)),
        params_(params),
        done_(std::move(done)),
        of_nothing_(of_nothing) {}

  double step(const RunControl& control) override {
    const double rate = epoch_rate(params_, done_);
    const int epoch = done_.empty() ? 1 : done_.back().iteration + 1;
    const double objective = solver_->epoch(epoch, rate, control);
    require_no_divergence(objective, of_nothing_, fmt::format("epoch {}", epoch), rate);
    done_.push_back({epoch, objective, 0.0, {}});
    return objective;
  }
  [[nodiscard]] const Factors& factors() override { return solver_->factors(); }
  [[nodiscard]] Factors take() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<SgdSolver> solver_;
  SgdParams params_;
  std::vector<Iteration> done_;
  double of_nothing_;
};

/// Whether a step takes so much of a row for its regularization alone that a few of them would send
/// it back and forth, ever farther: then steps are bounded, which takes a little longer.
[[nodiscard]] bool is_stiff(const SgdParams& params, double spread) {
  const double rate = params.learning_rate;
  const bool stiff =
      rate * params.regularization > 0.5 * spread || rate * bias_lambda(params) > 0.5;
  return stiff && rate <= 1.0;  // a larger one is a mistake of its own
}

void check_start(const Factors& start, const CsrView& by_user, const SgdParams& params) {
  const auto fits = [&](Side side, Index rows) {
    return start.side(side).rows() == rows && start.side(side).cols() == params.factors &&
           start.bias(side).size() == (params.biases ? rows : 0) &&
           start.squares(side).size() == (is_adaptive(params) ? rows : 0);
  };
  if (fits(Side::kUsers, by_user.rows) && fits(Side::kItems, by_user.cols)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("the factors to start from are {} x {} and {} x {}; this matrix and these "
                  "parameters need {} x {} and {} x {}, with {}biases and {}sums of squares",
                  start.users.rows(), start.users.cols(), start.items.rows(), start.items.cols(),
                  by_user.rows, params.factors, by_user.cols, params.factors,
                  params.biases ? "" : "no ", is_adaptive(params) ? "" : "no "));
}

}  // namespace

void SgdParams::validate() const {
  check_ranges(*this);
  if (nonnegative && loss != SgdLoss::kSquared) {
    throw Error(ErrorKind::kInvalidArgument, "nonnegative needs loss squared");
  }
  if (feedback == Feedback::kExplicit) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      mentions("{feedback} must be explicit with sgd, which learns from ratings alone; of implicit "
               "feedback als and the neighbourhood methods learn"));
}

IterationResult train_sgd(const CsrView& by_user, const SgdParams& params, const Device& device,
                          const IterationRun& run) {
  params.validate();
  check_values(by_user, params);
  const MemoryPlan plan = job<SgdJob>(device).plan(shape_of(by_user), params);
  if (run.on_plan) run.on_plan(plan);
  if (run.start != nullptr) check_start(*run.start, by_user, params);
  Factors start = run.start != nullptr ? run.start->clone() : first_sgd_factors(by_user, params);
  const ValueSpread values = value_spread(by_user, params);
  SgdWhole whole;
  whole.bounded = is_stiff(params, values.spread);
  SgdTrainer trainer(job<SgdJob>(device).make_solver(by_user, params, std::move(start), whole),
                     params, run.history, objective_of_first(by_user, params, values));
  return iterate(trainer, stopping_of(params), run);
}

namespace {

class Sgd final : public AlgorithmOf<SgdParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kSgdRow.name; }

  /// lambda = 0.8 spread, and lambda of the biases what it is by default: they are of the order of
  /// the values.
  [[nodiscard]] TrainingParams data_default_params(const CsrView& by_user,
                                                   const GivenNames& given) const override {
    SgdParams suited = params();
    if (!follows_data("regularization", given)) return suited;
    const double lambda = kShareOfSpread * value_spread(by_user, suited).spread;
    if (!(lambda >= kLeastLambda && lambda <= kMostLambda)) return suited;  // refused later
    if (!suited.bias_regularization) suited.bias_regularization = suited.regularization;
    suited.regularization = rounded(lambda);
    return suited;
  }
  [[nodiscard]] bool follows_data(std::string_view parameter,
                                  const GivenNames& given) const override {
    return parameter == "regularization" && params().loss == SgdLoss::kSquared &&
           !given.has("regularization");
  }
  [[nodiscard]] TrainingParams with_usual_values() const override {
    SgdParams filled = params();
    if (filled.biases) filled.bias_regularization = bias_lambda(filled);
    return filled;
  }
  void check_values(const CsrView& by_user) const override {
    likewise::check_values(by_user, params());
  }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    return params().iterations * sgd_seconds(static_cast<double>(by_user.nnz()), params().factors);
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kSgd; }
  /// Makes a solver of an empty matrix.
  void require_taken(const Device& device) const override {
    const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
    (void)job<SgdJob>(device).make_solver(nothing.view(), params(),
                                          first_sgd_factors(nothing.view(), params()));
  }
  [[nodiscard]] bool gains_by_gpus() const override {
    return params().order == SgdOrder::kAlternating;
  }
  [[nodiscard]] MemoryPlan memory(const Device& device, const CsrView& by_user) const override {
    return job<SgdJob>(device).plan(shape_of(by_user), params());
  }
  [[nodiscard]] std::optional<Job> predictions_job() const override { return Job::kPredictions; }

  void learn(const Learning& learning) const override {
    learning.by_iterations(stopping_of(params()), [&](const IterationRun& run) {
      return train_sgd(learning.by_user(), params(), learning.device(), run);
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.factors(params().factors, {.squares = is_adaptive(params())});
  }
  [[nodiscard]] bool learns_factors() const override { return true; }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.factors(); }

  [[nodiscard]] std::unique_ptr<FoldInSolver> fold_in_solver(const Model& /*model*/,
                                                             const Factors& factors,
                                                             Side side) const override {
    if (params().loss == SgdLoss::kLogistic) {
      return std::make_unique<LogisticRows>(factors, params(), side);
    }
    return std::make_unique<LeastSquaresRows>(factors, row_weights(params()), side);
  }

  [[nodiscard]] UsualUpdate usual_update(std::optional<UpdateBy> /*by*/) const override {
    return {3, true};
  }
  [[nodiscard]] std::optional<SgdParams> update_steps() const override { return params(); }
  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return update_sgd(params(), task);
  }

  [[nodiscard]] bool predicts_ratings() const override {
    return params().loss == SgdLoss::kSquared;
  }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const SgdParams& params) {
  return std::make_unique<Sgd>(params);
}

}  // namespace likewise
