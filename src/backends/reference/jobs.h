// SPDX-License-Identifier: Apache-2.0
/// The jobs of the reference: obvious loops in double precision, the oracle for all others.
#pragma once

#include <memory>
#include <span>

#include "backends/jobs/device_jobs.h"
#include "backends/jobs/ease.h"
#include "backends/jobs/spectral.h"

namespace likewise {

[[nodiscard]] Device make_reference_device();

/// Scores every item, sorts them all. `items` and `item_bias` must outlive the scorer.
[[nodiscard]] std::unique_ptr<Scorer> make_reference_scorer(const MatrixView& items,
                                                            std::span<const float> item_bias,
                                                            ScoreKind score = ScoreKind::kDot);

/// `by_user` must outlive the solver.
[[nodiscard]] std::unique_ptr<AlsSolver> make_reference_als_solver(const CsrView& by_user,
                                                                   const AlsParams& params,
                                                                   Factors start);

/// Compares every pair of rows, sorts them all. `problem` must outlive the search.
[[nodiscard]] std::unique_ptr<KnnSearch> make_reference_knn_search(
    const SimilarityProblem& problem);

/// In the blocks of a grid of `stripes` x `stripes`. `by_user` must outlive the solver.
[[nodiscard]] std::unique_ptr<SgdSolver> make_reference_sgd_solver(const CsrView& by_user,
                                                                   const SgdParams& params,
                                                                   Factors start,
                                                                   const SgdWhole& whole,
                                                                   Index stripes);

/// `likes` must outlive the solver.
[[nodiscard]] std::unique_ptr<BprSolver> make_reference_bpr_solver(const CsrView& likes,
                                                                   const BprParams& params,
                                                                   Factors start,
                                                                   const BprWhole& whole);

[[nodiscard]] std::unique_ptr<EaseJob> make_reference_ease();
[[nodiscard]] std::unique_ptr<SpectralJob> make_reference_spectral();

/// As PredictionJob.
[[nodiscard]] std::unique_ptr<Predictions> make_reference_predictions(const Factors& factors);
[[nodiscard]] std::unique_ptr<Predictions> make_reference_predictions(const KnnModel& model);

}  // namespace likewise
