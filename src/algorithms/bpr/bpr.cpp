// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/bpr.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "algorithms/bpr/likes.h"
#include "algorithms/bpr/params.h"
#include "algorithms/cost.h"
#include "algorithms/iteration_run.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/rows_with_entries.h"
#include "algorithms/sgd/setup.h"
#include "backends/jobs/device_jobs.h"
#include "core/random.h"
#include "likewise/bpr.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "model/learned_parts.h"
#include "serving/pairwise_rows.h"
#include "training/growth.h"
#include "training/iterate.h"
#include "training/learning.h"

namespace likewise {
namespace {

void require_something_to_rank(const CsrView& likes) {
  for (Index row = 0; row < likes.rows; ++row) {
    if (likes.row_size(row) > 0 && likes.row_size(row) < likes.cols) return;
  }
  throw Error(ErrorKind::kBadData,
              "bpr learns from items that a user likes (values above 0) and items that it does "
              "not, and no user has both");
}

[[nodiscard]] Factors first_factors(const CsrView& likes, const BprParams& params) {
  const double stddev = params.init_stddev / std::sqrt(static_cast<double>(params.factors));
  Factors first;
  first.users = draw_rows(entry_counts(likes, Side::kUsers), params.factors, stddev, params.seed,
                          kStreamUserFactors);
  first.items = draw_rows(entry_counts(likes, Side::kItems), params.factors, stddev, params.seed,
                          kStreamItemFactors);
  if (params.biases) first.item_bias = Array<float>(likes.cols);
  return first;
}

/// An iteration is an epoch.
class BprTrainer final : public Trainer {
 public:
  /// `of_nothing`: the losses of factors that know nothing.
  BprTrainer(std::unique_ptr<BprSolver> solver, const BprParams& params, int done,
             double of_nothing)
      : solver_(std::move(solver)), params_(params), done_(done), of_nothing_(of_nothing) {}

  double step(const RunControl& control) override {
    const double losses = solver_->epoch(++done_, control);
    require_no_divergence(losses, of_nothing_, fmt::format("epoch {}", done_),
                          params_.learning_rate);
    return losses;
  }
  [[nodiscard]] const Factors& factors() override { return solver_->factors(); }
  [[nodiscard]] Factors take() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<BprSolver> solver_;
  BprParams params_;
  int done_;
  double of_nothing_;
};

void check_start(const Factors& start, const CsrView& by_user, const BprParams& params) {
  const Index biases = params.biases ? by_user.cols : 0;
  if (start.users.rows() == by_user.rows && start.items.rows() == by_user.cols &&
      start.users.cols() == params.factors && start.items.cols() == params.factors &&
      start.item_bias.size() == biases) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("the factors to start from are {} x {} and {} x {} with {} item biases; "
                          "this matrix and these parameters need {} x {} and {} x {} with {}",
                          start.users.rows(), start.users.cols(), start.items.rows(),
                          start.items.cols(), start.item_bias.size(), by_user.rows, params.factors,
                          by_user.cols, params.factors, biases));
}

}  // namespace

void BprParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      mentions(
          "{feedback} must be implicit with bpr, which ranks likes; from explicit ratings als and "
          "sgd learn"));
}

namespace {

[[nodiscard]] IterationResult train_part(const CsrView& by_user, const BprParams& params,
                                         const Device& device, const IterationRun& run) {
  const CsrMatrix own = likes_of(by_user);
  const CsrView likes = own.view();
  require_something_to_rank(likes);
  const MemoryPlan plan = job<BprJob>(device).plan({likes.rows, likes.cols, likes.nnz()}, params);
  if (run.on_plan) run.on_plan(plan);
  Factors start = run.start != nullptr ? run.start->clone() : first_factors(likes, params);
  const double of_nothing = losses_of_first(likes.nnz(), start);
  BprTrainer trainer(job<BprJob>(device).make_solver(likes, params, std::move(start)), params,
                     run.completed_iterations, of_nothing);
  return iterate(trainer, stopping_of(params), run);
}

}  // namespace

IterationResult train_bpr(const CsrView& by_user, const BprParams& params, const Device& device,
                          const IterationRun& run) {
  params.validate();
  if (run.start != nullptr) check_start(*run.start, by_user, params);
  return train_rows_with_entries(by_user, run,
                                 [&](const CsrView& part, const IterationRun& of_part) {
                                   return train_part(part, params, device, of_part);
                                 });
}

namespace {

class Bpr final : public AlgorithmOf<BprParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kBprRow.name; }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    return params().iterations * sgd_seconds(static_cast<double>(by_user.nnz()), params().factors);
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kBpr; }
  /// Makes a solver of an empty matrix.
  void require_taken(const Device& device) const override {
    const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
    Factors none{Matrix(0, params().factors), Matrix(0, params().factors), {}, {}, 0.0F};
    (void)job<BprJob>(device).make_solver(nothing.view(), params(), std::move(none));
  }
  [[nodiscard]] MemoryPlan memory(const Device& device, const CsrView& by_user) const override {
    return job<BprJob>(device).plan(shape_with_entries<SgdShape>(by_user), params());
  }
  [[nodiscard]] std::optional<Job> predictions_job() const override { return Job::kPredictions; }

  void learn(const Learning& learning) const override {
    learning.by_iterations(stopping_of(params()), [&](const IterationRun& run) {
      return train_bpr(learning.by_user(), params(), learning.device(), run);
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.factors(params().factors, {});
  }
  [[nodiscard]] bool learns_factors() const override { return true; }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.factors(); }

  [[nodiscard]] std::unique_ptr<FoldInSolver> fold_in_solver(const Model& model,
                                                             const Factors& factors,
                                                             Side side) const override {
    if (side == Side::kItems) {
      throw Error(
          ErrorKind::kInvalidArgument,
          "bpr learns an item by comparing it with others for the users who liked either: new "
          "items need a new training");
    }
    return std::make_unique<PairwiseRows>(factors, params(), model.history.view());
  }

  [[nodiscard]] UsualUpdate usual_update(std::optional<UpdateBy> /*by*/) const override {
    return {10, true};
  }
  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return update_bpr(params(), task);
  }

  [[nodiscard]] bool predicts_ratings() const override { return false; }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const BprParams& params) {
  return std::make_unique<Bpr>(params);
}

}  // namespace likewise
