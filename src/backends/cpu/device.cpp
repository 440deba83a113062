// SPDX-License-Identifier: Apache-2.0
/// The CPU as a device.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "backends/cpu/als/als_rank.h"
#include "backends/cpu/jobs.h"
#include "backends/distributed/rank_device.h"
#include "backends/jobs/als_changes.h"
#include "backends/jobs/host_plan.h"
#include "core/system/instruction_set.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

class CpuAls final : public AlsJob {
 public:
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    const Offset rows = Offset{shape.users} + shape.items;
    const Offset most = std::max(shape.users, shape.items);
    const Offset width = padded_stride(als_width(params));
    const Offset number = stored_bytes(resolve_cpu_precision(params, shape).precision);
    auto parts = common_parts(shape, params);
    parts.push_back({"fixed side in its basis", most * width * number});
    if (moves_starts(params, shape)) {
      parts.push_back(
          {"changes of the rows", rows * params.factors * Offset{sizeof(std::uint16_t)}});
    }
    if (als_width(params) > params.factors) {
      parts.push_back({"features of the fixed side", most * width * Offset{sizeof(float)}});
    }
    parts.push_back({"order of the rows", rows * Offset{sizeof(Index) + sizeof(Offset)}});
    return checked_plan(shape, std::move(parts));
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed_iterations) const override {
    return make_cpu_als_solver(
        by_user, resolve_cpu_precision(params, {by_user.rows, by_user.cols, by_user.nnz()}),
        std::move(start), completed_iterations);
  }
  [[nodiscard]] RankDevice rank_device() const override {
    return {"cpu", "a processor", {}, {}, {}};
  }
  [[nodiscard]] std::unique_ptr<AlsRank> make_rank(Communicator& ranks, const AlsRankJob& job,
                                                   AlsRankPart part) const override {
    const AlsParams& params = job.params;
    if (params.precision != Precision::kAuto && params.precision != Precision::kFp32) {
      throw Error(ErrorKind::kInvalidArgument,
                  "precision: ranks on CPUs train in fp32; use auto or fp32");
    }
    AlsParams resolved = params;
    resolved.precision = Precision::kFp32;
    job.plan = plan_ranks_together(ranks, part, job.plan, resolved, kNetworkSpeed);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      job.remarks.push_back(describe(side, job.plan.exchange(side)));
    }
    return std::make_unique<CpuAlsRank>(ranks, job.plan, resolved, std::move(part),
                                        job.completed_iterations);
  }
};

class CpuKnn final : public KnnJob {
  [[nodiscard]] std::unique_ptr<KnnSearch> make_search(
      const SimilarityProblem& problem) const override {
    return make_cpu_knn_search(problem);
  }
};

class CpuTopK final : public TopKJob {
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> item_bias,
                                                    ScoreKind score) const override {
    return make_cpu_scorer(items, item_bias, score);
  }
};

class CpuSgd final : public SgdJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
    return sgd_plan(shape, params, sizeof(float));
  }
  [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                       const SgdParams& params, Factors start,
                                                       const SgdWhole& whole) const override {
    require_fp32(params.precision, "cpu");
    return make_cpu_sgd_solver(by_user, params, std::move(start), whole);
  }
};

class CpuBpr final : public BprJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const BprParams& params) const override {
    return bpr_plan(shape, params, sizeof(float));
  }
  [[nodiscard]] std::unique_ptr<BprSolver> make_solver(const CsrView& likes,
                                                       const BprParams& params, Factors start,
                                                       const BprWhole& whole) const override {
    require_fp32(params.precision, "cpu");
    return make_cpu_bpr_solver(likes, params, std::move(start), whole);
  }
};

class CpuPredictions final : public PredictionJob {
  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors& factors) const override {
    return make_cpu_predictions(factors);
  }
  [[nodiscard]] std::unique_ptr<Predictions> by_knn(const KnnModel& model) const override {
    return make_cpu_predictions(model);
  }
};

}  // namespace

Device make_cpu_device() {
  chosen_target();
  const auto description = [] {
    return fmt::format("{} kernels, {} threads", instruction_set(), thread_count());
  };
  return make_device("cpu", description,
                     {{std::make_shared<CpuAls>()},
                      {std::make_shared<CpuKnn>()},
                      {std::make_shared<CpuTopK>()},
                      {std::make_shared<CpuSgd>()},
                      {std::make_shared<CpuBpr>()},
                      {std::make_shared<CpuPredictions>()},
                      {make_cpu_ease()},
                      {make_cpu_spectral()}});
}

}  // namespace likewise
