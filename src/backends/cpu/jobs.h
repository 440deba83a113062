// SPDX-License-Identifier: Apache-2.0
/// The jobs of the CPU.
#pragma once

#include <memory>
#include <span>

#include "backends/jobs/device_jobs.h"
#include "backends/jobs/ease.h"
#include "backends/jobs/spectral.h"

namespace likewise {

/// Kernels for this processor; throws Error where LIKEWISE_ISA asks for what it lacks.
[[nodiscard]] Device make_cpu_device();

struct ScanCounts;
enum class EstimateKind;

/// For benchmarks and tests.
struct CpuScorerOptions {
  ScanCounts* counts = nullptr;  ///< where the scorer adds up its work; must outlive it
  EstimateKind estimates{};      ///< kAuto
};

/// Packs the items once (O(items x factors)). `items` and `item_bias` must outlive the scorer.
[[nodiscard]] std::unique_ptr<Scorer> make_cpu_scorer(const MatrixView& items,
                                                      std::span<const float> item_bias,
                                                      ScoreKind score = ScoreKind::kDot,
                                                      const CpuScorerOptions& options = {});

/// `by_user` must outlive the solver.
[[nodiscard]] std::unique_ptr<AlsSolver> make_cpu_als_solver(const CsrView& by_user,
                                                             const AlsParams& params, Factors start,
                                                             int completed_iterations);

/// Orders the entries once.
[[nodiscard]] std::unique_ptr<SgdSolver> make_cpu_sgd_solver(const CsrView& by_user,
                                                             const SgdParams& params, Factors start,
                                                             const SgdWhole& whole);

/// Orders the likes once.
[[nodiscard]] std::unique_ptr<BprSolver> make_cpu_bpr_solver(const CsrView& likes,
                                                             const BprParams& params, Factors start,
                                                             const BprWhole& whole);

/// Sorts the entries by column once. `problem` must outlive the search.
[[nodiscard]] std::unique_ptr<KnnSearch> make_cpu_knn_search(const SimilarityProblem& problem);

[[nodiscard]] std::unique_ptr<EaseJob> make_cpu_ease();
[[nodiscard]] std::unique_ptr<SpectralJob> make_cpu_spectral();

/// As PredictionJob.
[[nodiscard]] std::unique_ptr<Predictions> make_cpu_predictions(const Factors& factors);
[[nodiscard]] std::unique_ptr<Predictions> make_cpu_predictions(const KnnModel& model);

}  // namespace likewise
