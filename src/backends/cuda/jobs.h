// SPDX-License-Identifier: Apache-2.0
/// The jobs of the plug-in, each with the contract of src/backends/jobs.
#pragma once

#include <memory>

#include "backends/cuda/host/plugin.h"

namespace likewise {

/// What training takes of a GPU now.
[[nodiscard]] MemoryPlan plan_cuda_als(const GpuUse& use, const AlsShape& shape,
                                       const AlsParams& params);

/// Trains on one GPU, or on several. `by_user` must outlive the solver.
[[nodiscard]] std::unique_ptr<AlsSolver> make_cuda_als_solver(const GpuUse& use,
                                                              const CsrView& by_user,
                                                              const AlsParams& params,
                                                              Factors start,
                                                              int completed_iterations);

/// One rank of a training that processes share, each with one GPU.
[[nodiscard]] std::unique_ptr<AlsRank> make_cuda_als_rank(const GpuUse& use, Communicator& ranks,
                                                          const AlsRankJob& job, AlsRankPart part);

/// Searches on GPU number `device`, which `gpu` describes. `problem` must outlive the search.
[[nodiscard]] std::unique_ptr<KnnSearch> make_cuda_knn_search(int device, const GpuInfo& gpu,
                                                              const SimilarityProblem& problem);

/// What training by SGD takes of a GPU now.
[[nodiscard]] MemoryPlan plan_cuda_sgd(const GpuUse& use, const SgdShape& shape,
                                       const SgdParams& params);

/// Trains by SGD on one GPU, or on several.
[[nodiscard]] std::unique_ptr<SgdSolver> make_cuda_sgd_solver(const GpuUse& use,
                                                              const CsrView& by_user,
                                                              const SgdParams& params,
                                                              Factors start, const SgdWhole& whole);

/// What training by BPR takes of a GPU now.
[[nodiscard]] MemoryPlan plan_cuda_bpr(const GpuUse& use, const SgdShape& shape,
                                       const BprParams& params);

/// Trains by BPR on one GPU.
[[nodiscard]] std::unique_ptr<BprSolver> make_cuda_bpr_solver(const GpuUse& use,
                                                              const CsrView& likes,
                                                              const BprParams& params,
                                                              Factors start, const BprWhole& whole);

/// Lists on one GPU: as TopKJob::make_scorer.
[[nodiscard]] std::unique_ptr<Scorer> make_cuda_scorer(const GpuUse& use, const MatrixView& items,
                                                       std::span<const float> item_bias,
                                                       ScoreKind score);

/// Predictions on one GPU: as PredictionJob.
[[nodiscard]] std::unique_ptr<Predictions> make_cuda_predictions(const GpuUse& use,
                                                                 const Factors& factors);
[[nodiscard]] std::unique_ptr<Predictions> make_cuda_predictions(const GpuUse& use,
                                                                 const GpuInfo& gpu,
                                                                 const KnnModel& model);

/// What weights between items take of a GPU now.
[[nodiscard]] MemoryPlan plan_cuda_ease(const GpuUse& use, const EaseShape& shape);

/// Dense weights on one GPU: as EaseJob::dense_weights.
[[nodiscard]] Matrix cuda_ease_weights(const GpuUse& use, const CsrView& by_user,
                                       const EaseSystem& system, const RunControl& control);

/// Weights of candidates on one GPU: as EaseJob::local_weights.
[[nodiscard]] KnnLists cuda_local_ease(const GpuUse& use, const CsrView& by_user,
                                       const EaseSystem& system, const KnnLists& candidates,
                                       const RunControl& control);

/// Lists by dense weights on one GPU: as EaseJob::make_lists.
[[nodiscard]] std::unique_ptr<WeightLists> make_cuda_weight_lists(const GpuUse& use,
                                                                  const MatrixView& weights);

/// Why spectral factors cannot be found on a GPU, and what to do; empty where they can.
[[nodiscard]] std::string cuda_spectral_problem();

/// What spectral factors take of a GPU now.
[[nodiscard]] MemoryPlan plan_cuda_spectral(const GpuUse& use, const SpectralShape& shape);

/// Spectral factors on one GPU: as SpectralJob.
[[nodiscard]] SpectralFactors cuda_spectral_factors(const GpuUse& use, const CsrView& by_user,
                                                    int factors, std::uint64_t seed,
                                                    const RunControl& control);
[[nodiscard]] Matrix cuda_spectral_users(const GpuUse& use, const CsrView& by_user,
                                         std::span<const double> scale, const Matrix& items);

}  // namespace likewise
