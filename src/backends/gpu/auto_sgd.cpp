// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/auto_sgd.h"

#include <utility>

#include <fmt/format.h>

#include "backends/gpu/several_gpus.h"

namespace likewise {
namespace {

class RemarkingSolver final : public SgdSolver {
 public:
  RemarkingSolver(std::unique_ptr<SgdSolver> solver, std::string remark)
      : solver_(std::move(solver)), remark_(std::move(remark)) {}
  double epoch(int number, double learning_rate, const RunControl& control) override {
    if (!std::exchange(told_, true)) control.remark(remark_);
    return solver_->epoch(number, learning_rate, control);
  }
  const Factors& factors() override { return solver_->factors(); }
  Factors take_factors() override { return solver_->take_factors(); }

 private:
  std::unique_ptr<SgdSolver> solver_;
  std::string remark_;
  bool told_ = false;
};

struct Choice {
  const SgdJob& job;
  std::string remark;
};

class AutoSgdJob final : public SgdJob {
 public:
  explicit AutoSgdJob(SgdGpus gpus) : gpus_(std::move(gpus)) {}
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
    return choose(shape, params).job.plan(shape, params);
  }
  [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                       const SgdParams& params, Factors start,
                                                       const SgdWhole& whole) const override {
    Choice choice = choose({by_user.rows, by_user.cols, by_user.nnz()}, params);
    return std::make_unique<RemarkingSolver>(
        choice.job.make_solver(by_user, params, std::move(start), whole), std::move(choice.remark));
  }

 private:
  [[nodiscard]] Choice choose(const SgdShape& shape, const SgdParams& params) const {
    const auto on = [&](const SgdJob& job, int count, const std::string& why) {
      return Choice{job, fmt::format("sgd on {} of {} GPUs: {}", count, gpus_.count, why)};
    };
    if (seconds_saved(shape, params, gpus_.gpu, gpus_.count, gpus_.linked) <
        seconds_to_train_together(gpus_.count)) {
      return on(*gpus_.one, 1, "more are not expected to be faster");
    }
    if (const std::string problem = gpus_.problem(); !problem.empty()) {
      return on(*gpus_.one, 1, problem);
    }
    return on(*gpus_.all, gpus_.count, "that is expected to be faster than one");
  }

  SgdGpus gpus_;
};

}  // namespace

std::shared_ptr<const SgdJob> make_auto_sgd_job(SgdGpus gpus) {
  return std::make_shared<AutoSgdJob>(std::move(gpus));
}

}  // namespace likewise
