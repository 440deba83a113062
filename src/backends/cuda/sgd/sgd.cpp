// SPDX-License-Identifier: Apache-2.0
/// SGD on one GPU, or on several. The factors stay there between epochs; ratings that do not fit
/// pass through.
#include <utility>

#include <fmt/format.h>

#include "algorithms/sgd/setup.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/sgd/ranked_sgd.h"
#include "backends/cuda/sgd/sgd_rank.h"
#include "backends/cuda/sgd/sgd_steps.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

class CudaSgdSolver final : public SgdSolver {
 public:
  CudaSgdSolver(const GpuUse& use, const CsrView& by_user, const SgdParams& params, Factors start,
                const SgdWhole& whole)
      : plan_(plan_sgd(by_user, params, whole, 1)),
        factors_(std::move(start)),
        rank_(use.devices.front(), plan_, 0, resolve_sgd(use, share_of(plan_, 0), params), factors_,
              nullptr) {}

  double epoch(int number, double learning_rate, const RunControl& control) override {
    on_host_ = false;
    return rank_.epoch(nullptr, number, learning_rate, control);
  }
  const Factors& factors() override {
    if (!std::exchange(on_host_, true)) rank_.store(factors_);
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  CudaSgdPlan plan_;
  Factors factors_;
  bool on_host_ = true;
  CudaSgdRank rank_;
};

/// Of a matrix without entries: every row stays what it is, and a GPU has nothing to do.
class EmptySgdSolver final : public SgdSolver {
 public:
  explicit EmptySgdSolver(Factors start) : factors_(std::move(start)) {}
  double epoch(int, double, const RunControl& control) override {
    control.check();
    return 0.0;
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  Factors factors_;
};

void refuse_what_is_missing(const GpuUse& use, const SgdParams& params) {
  if (params.order == SgdOrder::kSerial) {
    throw Error(ErrorKind::kInvalidArgument,
                "order: serial is one rating after the other, which a GPU is not for; take "
                "blocked, alternating or racing, or the cpu");
  }
  if (params.factors > kMostGroupColumns) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: GPUs train up to {} by SGD in this version, not {}; use the "
                            "cpu",
                            kMostGroupColumns, params.factors));
  }
  require_shared_order(params, static_cast<int>(use.devices.size()), "GPUs");
}

}  // namespace
}  // namespace cuda

MemoryPlan plan_cuda_sgd(const GpuUse& use, const SgdShape& shape, const SgdParams& params) {
  cuda::refuse_what_is_missing(use, params);
  if (shape.interactions == 0) return {};
  return use.devices.size() > 1
             ? cuda::plan_ranked_sgd(use, shape, params)
             : cuda::resolve_sgd(use, even_sgd_share(shape, params, 1), params).memory;
}

std::unique_ptr<SgdSolver> make_cuda_sgd_solver(const GpuUse& use, const CsrView& by_user,
                                                const SgdParams& params, Factors start,
                                                const SgdWhole& whole) {
  cuda::refuse_what_is_missing(use, params);
  if (by_user.nnz() == 0) return std::make_unique<cuda::EmptySgdSolver>(std::move(start));
  if (use.devices.size() > 1) {
    return cuda::make_ranked_sgd_solver(use, by_user, params, std::move(start), whole);
  }
  return std::make_unique<cuda::CudaSgdSolver>(use, by_user, params, std::move(start), whole);
}

}  // namespace likewise
