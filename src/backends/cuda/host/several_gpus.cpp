// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/several_gpus.h"

#include <algorithm>

#include <fmt/format.h>

#include "algorithms/knn/similarity.h"
#include "algorithms/row_counts.h"
#include "backends/cuda/host/als_cost.h"
#include "backends/cuda/host/als_tuning.h"
#include "backends/cuda/host/gpu_knn_cost.h"
#include "backends/cuda/host/sgd_work.h"
#include "backends/jobs/als_solver.h"

namespace likewise {
namespace {

/// Of a GPU that a process has not used yet: its context, and the code that it loads.
constexpr double kSecondsToStart = 0.3;
/// To load a training on several GPUs takes so much longer than on one, once all are started.
constexpr double kSecondsToConnect = 0.1;

// Of `alternating` on an H200, 89.2 M ratings (performance.md): 7.51 ms an epoch with rows of
// 64 numbers of float16, 10.29 ms with 128.
constexpr double kSecondsOfRating = 0.0530e-9;
constexpr double kSecondsOfNumber = 0.000488e-9;  ///< of its rows of float16, more for a rating
constexpr double kClocks = 132 * 1.98e9;          ///< of all multiprocessors, a second

// What an iteration of ALS takes more than als_cost.h says, where rows have no more than 96
// columns: fitted on an H200 to the Netflix and MSD shapes at 16 to 80 factors, and of explicit
// feedback to the Netflix, Yahoo and Hugewiki shapes at 64 (docs/papers). Wider rows take what it
// says.
constexpr int kMostColumns = 96;
constexpr double kSecondsOfRow = 3.5e-9;
constexpr double kSecondsOfInteraction = 0.02e-9;
constexpr double kSecondsOfExplicitRow = 11.5e-9;

// Fitted to two H100 (performance.md, "The model").
constexpr double kSecondsOfAlsWaits = 0.2e-3;  ///< of an iteration, for the other GPUs
constexpr double kSecondsOfSgdWaits = 0.25e-3;
constexpr double kLinkBytes = 240e9;  ///< a second, by copies over NVLink
constexpr double kHostBytes = 10e9;   ///< through the machine's memory; not measured

/// Expected seconds of an iteration of ALS on one GPU.
[[nodiscard]] double seconds_of_iteration(const AlsShape& shape, const AlsWork& work,
                                          const AlsTuning& tuning, const GpuInfo& gpu) {
  const double rows = static_cast<double>(shape.users) + shape.items;
  const double seconds = estimated_seconds(gpu, work, tuning, shape.interactions);
  if (tuning.columns > kMostColumns) return seconds;
  if (work.feedback == Feedback::kExplicit) return seconds + rows * kSecondsOfExplicitRow;
  return seconds + rows * kSecondsOfRow +
         static_cast<double>(shape.interactions) * kSecondsOfInteraction;
}

}  // namespace

double seconds_of_search(const SimilarityProblem& problem, Index k, const GpuInfo& gpu) {
  const CsrView rows = problem.rows().weights;
  const PairFormula& formula = problem.formula();
  KnnWork work;
  work.rows = rows.rows;
  work.cols = rows.cols;
  work.entries = rows.nnz();
  for (const Offset count : column_counts(rows)) {
    work.common += static_cast<double>(count) * static_cast<double>(count);
  }
  work.sums = sums_of(formula.sums);
  work.k = k;
  work.dense_can = gemm_can(formula, k);
  const KnnCost cost = gpu_knn_cost(work, gpu);
  return std::min(cost.sparse, cost.dense);
}

bool several_gpus_pay(double seconds, int gpus) {
  return seconds * (1.0 - 1.0 / gpus) > (gpus - 1) * kSecondsToStart;
}

double seconds_saved(const AlsShape& shape, const AlsParams& params, const AlsTuning& tuning,
                     const GpuInfo& gpu, int gpus, bool linked) {
  const AlsWork work =
      als_work(resolve_precision(resolve_solver(params, shape), shape.interactions));
  const int bytes =
      work.precision == Precision::kFp16 || work.precision == Precision::kBf16 ? 2 : 4;
  const double alone = seconds_of_iteration(shape, work, tuning, gpu);
  const double others = 1.0 - 1.0 / gpus;
  const double received =
      others * (static_cast<double>(shape.users) + shape.items) * tuning.columns * bytes;
  return params.iterations *
         (others * alone - kSecondsOfAlsWaits - received / (linked ? kLinkBytes : kHostBytes));
}

double seconds_saved(const SgdShape& shape, const SgdParams& params, const GpuInfo& gpu, int gpus,
                     bool linked) {
  if (params.order != SgdOrder::kAlternating) return 0.0;
  const int numbers = gpu_sgd_columns(params.factors);
  const int bytes = params.precision == SgdPrecision::kFp32 ? 4 : 2;
  const double clocks = gpu.specs.multiprocessors * gpu.specs.clock;
  const double alone = static_cast<double>(shape.interactions) *
                       (kSecondsOfRating + kSecondsOfNumber * numbers * bytes / 2) * kClocks /
                       (clocks > 0 ? clocks : kClocks);
  const double others = 1.0 - 1.0 / gpus;
  const double received = others * (static_cast<double>(shape.users) + shape.items) *
                          (numbers * bytes + Offset{4 * sizeof(float)});
  return params.iterations *
         (others * alone - kSecondsOfSgdWaits - received / (linked ? kLinkBytes : kHostBytes));
}

double seconds_to_train_together(int gpus) {
  return (gpus - 1) * kSecondsToStart + kSecondsToConnect;
}

std::string train_together_rule(int gpus) {
  return fmt::format("shared out where that is expected to save more than {:.1f} s",
                     seconds_to_train_together(gpus));
}

std::string several_gpus_rule(int gpus) {
  return fmt::format("shared out where one GPU would take more than {:.1f} s",
                     gpus * kSecondsToStart);
}

}  // namespace likewise
