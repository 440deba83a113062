// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/several_gpus.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "algorithms/neighbours/similarity.h"
#include "backends/gpu/gpu_neighbour_cost.h"

namespace likewise {
namespace {

/// Of a GPU that a process has not used yet: its context, and the code that it loads.
constexpr double kSecondsToStart = 0.3;

}  // namespace

double seconds_of_search(const SimilarityProblem& problem, Index k, const GpuInfo& gpu) {
  const CsrView rows = problem.rows().weights;
  const PairFormula& formula = problem.formula();
  std::vector<double> met(static_cast<std::size_t>(rows.cols));
  for (Offset e = 0; e < rows.nnz(); ++e) ++met[static_cast<std::size_t>(rows.columns[e])];
  NeighbourWork work;
  work.rows = rows.rows;
  work.cols = rows.cols;
  work.entries = rows.nnz();
  for (const double entries : met) work.common += entries * entries;
  work.sums = sums_of(formula.sums);
  work.k = k;
  work.dense_can = gemm_can(formula, k);
  const NeighbourCost cost = gpu_neighbour_cost(work, gpu);
  return std::min(cost.sparse, cost.dense);
}

bool several_gpus_pay(double seconds, int gpus) {
  return seconds * (1.0 - 1.0 / gpus) > (gpus - 1) * kSecondsToStart;
}

std::string several_gpus_rule(int gpus) {
  return fmt::format("shared out where one GPU would take more than {:.1f} s",
                     gpus * kSecondsToStart);
}

}  // namespace likewise
