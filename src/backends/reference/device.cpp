// SPDX-License-Identifier: Apache-2.0
/// The reference as a device.
#include <utility>

#include "algorithms/als/weights.h"
#include "algorithms/sgd/grid.h"
#include "backends/jobs/host_plan.h"
#include "backends/reference/jobs.h"

namespace likewise {
namespace {

class ReferenceAls final : public AlsJob {
 public:
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    const Offset rows = Offset{shape.users} + shape.items;
    const Offset row_bytes =
        Offset{sizeof(std::vector<double>)} + Offset{als_width(params)} * Offset{sizeof(double)};
    auto parts = common_parts(shape, params);
    parts.push_back({"factors in double precision", rows * row_bytes});
    return checked_plan(shape, std::move(parts));
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int) const override {
    require_fp32(params, "reference");
    return make_reference_als_solver(by_user, params, std::move(start));
  }
};

class ReferenceKnn final : public KnnJob {
  [[nodiscard]] std::unique_ptr<KnnSearch> make_search(
      const SimilarityProblem& problem) const override {
    return make_reference_knn_search(problem);
  }
};

class ReferenceTopK final : public TopKJob {
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> item_bias,
                                                    ScoreKind score) const override {
    return make_reference_scorer(items, item_bias, score);
  }
};

class ReferenceSgd final : public SgdJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
    return sgd_plan(shape, params, sizeof(double));
  }
  [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                       const SgdParams& params, Factors start,
                                                       const SgdWhole& whole) const override {
    require_fp32(params.precision, "reference");
    const Index stripes = sgd_stripes({by_user.rows, by_user.cols, by_user.nnz()}, params);
    return make_reference_sgd_solver(by_user, params, std::move(start), whole, stripes);
  }
};

class ReferenceBpr final : public BprJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const BprParams& params) const override {
    return bpr_plan(shape, params, sizeof(double));
  }
  [[nodiscard]] std::unique_ptr<BprSolver> make_solver(const CsrView& likes,
                                                       const BprParams& params, Factors start,
                                                       const BprWhole& whole) const override {
    require_fp32(params.precision, "reference");
    return make_reference_bpr_solver(likes, params, std::move(start), whole);
  }
};

class ReferencePredictions final : public PredictionJob {
  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors& factors) const override {
    return make_reference_predictions(factors);
  }
  [[nodiscard]] std::unique_ptr<Predictions> by_knn(const KnnModel& model) const override {
    return make_reference_predictions(model);
  }
};

}  // namespace

Device make_reference_device() {
  const auto description = [] {
    return std::string("plain loops in double precision, for checking; slow");
  };
  return make_device("reference", description,
                     {{std::make_shared<ReferenceAls>()},
                      {std::make_shared<ReferenceKnn>()},
                      {std::make_shared<ReferenceTopK>()},
                      {std::make_shared<ReferenceSgd>()},
                      {std::make_shared<ReferenceBpr>()},
                      {std::make_shared<ReferencePredictions>()},
                      {make_reference_ease()},
                      {make_reference_spectral()}});
}

}  // namespace likewise
