// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/auto_training.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/host/several_gpus.h"

namespace likewise {
namespace {

/// Makes a remark when it is first used.
class Remark {
 public:
  explicit Remark(std::string text) : text_(std::move(text)) {}
  void make(const RunControl& control) {
    if (!std::exchange(made_, true)) control.remark(text_);
  }

 private:
  std::string text_;
  bool made_ = false;
};

class RemarkingAls final : public AlsSolver {
 public:
  RemarkingAls(std::unique_ptr<AlsSolver> solver, std::string remark)
      : solver_(std::move(solver)), remark_(std::move(remark)) {}
  double solve(Side side, const RunControl& control) override {
    remark_.make(control);
    return solver_->solve(side, control);
  }
  const Factors& factors() override { return solver_->factors(); }
  Factors take_factors() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<AlsSolver> solver_;
  Remark remark_;
};

class RemarkingSgd final : public SgdSolver {
 public:
  RemarkingSgd(std::unique_ptr<SgdSolver> solver, std::string remark)
      : solver_(std::move(solver)), remark_(std::move(remark)) {}
  double epoch(int number, double learning_rate, const RunControl& control) override {
    remark_.make(control);
    return solver_->epoch(number, learning_rate, control);
  }
  const Factors& factors() override { return solver_->factors(); }
  Factors take_factors() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<SgdSolver> solver_;
  Remark remark_;
};

template <class TrainingJob>
struct Choice {
  const TrainingJob& job;
  std::string remark;
};

/// `saved`: seconds, by all GPUs, their start not counted.
template <class TrainingJob>
[[nodiscard]] Choice<TrainingJob> choose(const TrainingGpus<TrainingJob>& gpus, double saved) {
  const auto on = [&](const TrainingJob& job, int count, const std::string& why) {
    constexpr std::string_view kName = kJobNames[static_cast<std::size_t>(TrainingJob::kJob)];
    return Choice<TrainingJob>{
        job, fmt::format("{} on {} of {} GPUs: {}", kName, count, gpus.count, why)};
  };
  if (saved < seconds_to_train_together(gpus.count)) {
    return on(*gpus.one, 1, "more are not expected to be faster");
  }
  return on(*gpus.all, gpus.count, "that is expected to be faster than one");
}

class AutoAlsJob final : public AlsJob {
 public:
  explicit AutoAlsJob(TrainingGpus<AlsJob> gpus) : gpus_(std::move(gpus)) {}
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    return choose_for(shape, params).job.plan(shape, params);
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed_iterations) const override {
    Choice choice = choose_for({by_user.rows, by_user.cols, by_user.nnz()}, params);
    return std::make_unique<RemarkingAls>(
        choice.job.make_solver(by_user, params, std::move(start), completed_iterations),
        std::move(choice.remark));
  }
  [[nodiscard]] const AlsTuner* tuner() const override { return gpus_.one->tuner(); }

 private:
  [[nodiscard]] Choice<AlsJob> choose_for(const AlsShape& shape, const AlsParams& params) const {
    const AlsTuning tuning = tuner()->choose(params, shape).tuning;
    return choose(gpus_,
                  seconds_saved(shape, params, tuning, gpus_.gpu, gpus_.count, gpus_.linked));
  }

  TrainingGpus<AlsJob> gpus_;
};

class AutoSgdJob final : public SgdJob {
 public:
  explicit AutoSgdJob(TrainingGpus<SgdJob> gpus) : gpus_(std::move(gpus)) {}
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
    return choose_for(shape, params).job.plan(shape, params);
  }
  [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                       const SgdParams& params, Factors start,
                                                       const SgdWhole& whole) const override {
    Choice choice = choose_for({by_user.rows, by_user.cols, by_user.nnz()}, params);
    return std::make_unique<RemarkingSgd>(
        choice.job.make_solver(by_user, params, std::move(start), whole), std::move(choice.remark));
  }

 private:
  [[nodiscard]] Choice<SgdJob> choose_for(const SgdShape& shape, const SgdParams& params) const {
    return choose(gpus_, seconds_saved(shape, params, gpus_.gpu, gpus_.count, gpus_.linked));
  }

  TrainingGpus<SgdJob> gpus_;
};

}  // namespace

std::shared_ptr<const AlsJob> make_auto_job(TrainingGpus<AlsJob> gpus) {
  return std::make_shared<AutoAlsJob>(std::move(gpus));
}

std::shared_ptr<const SgdJob> make_auto_job(TrainingGpus<SgdJob> gpus) {
  return std::make_shared<AutoSgdJob>(std::move(gpus));
}

}  // namespace likewise
